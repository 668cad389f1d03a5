/* Sends one SetTwistLinearSoftLimit to an arm over MQTT 5, with libmosquitto, and says what became of it.
 *
 *     cc -std=c11 -Wall -Wextra -Werror -o set_limit set_limit.c -lmosquitto
 *     ARMBROKER_USER=alice ARMBROKER_PASSWORD=secret ./set_limit 127.0.0.1 1883 r12 0.2 request.id
 *
 * The id of the request is written to a file before the request is sent, and removed when its end is known. Run it again
 * after a power cut or without an answer: the same request goes out with the same id, and is carried out once.
 * Ends with 0: applied; 1: refused, nothing changed; 2: wrong use; 3: nobody knows yet, run it again. */
#define _POSIX_C_SOURCE 200809L
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 3

static const char CONN[] = "c-example";
static char id[65], request_topic[256], reply_topic[256], request[256];
static int subscribed, answered, end_code = 3;
static int answer_s = 12;  /* the service answers within 10 s of accepting */

static void check(int code, const char *what)
{
	if (code == MOSQ_ERR_SUCCESS) return;
	fprintf(stderr, "%s: %s\n", what, mosquitto_strerror(code));
	exit(3);
}

/* The id in the file, or a new one, written to it. A PLC counts its starts in retentive memory; a clock does here. */
static void take_id(const char *path, const char *arm, const char *value)
{
	char kept_arm[64], kept_value[32];
	FILE *file = fopen(path, "r");
	if (file != NULL) {
		int read = fscanf(file, "%64s %63s %31s", id, kept_arm, kept_value);
		fclose(file);
		if (read == 3 && strcmp(kept_arm, arm) == 0 && strcmp(kept_value, value) == 0) return;
		fprintf(stderr, "%s holds another request whose end is not known\n", path);
		exit(2);
	}
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(id, sizeof id, "%lld-%09ld", (long long)now.tv_sec, now.tv_nsec);
	file = fopen(path, "w");
	if (file == NULL || fprintf(file, "%s %s %s\n", id, arm, value) < 0 || fclose(file) != 0) {
		perror(path);
		exit(2);
	}
}

static void on_connect(struct mosquitto *client, void *context, int code, int flags, const mosquitto_property *properties)
{
	(void)context, (void)flags, (void)properties;
	if (code != 0) {
		fprintf(stderr, "the MQTT server refuses: %s\n", mosquitto_reason_string(code));
		exit(3);
	}
	check(mosquitto_subscribe(client, NULL, reply_topic, 1), "subscribe");
}

static void on_subscribe(struct mosquitto *client, void *context, int mid, int count, const int *qos)
{
	(void)client, (void)context, (void)mid, (void)count, (void)qos;
	subscribed = 1;
}

/* A text of a JSON document without escapes, as those looked for here are. */
static void text_of(const char *json, const char *key, char *text, size_t size)
{
	char pattern[32];
	snprintf(pattern, sizeof pattern, "\"%s\":\"", key);
	const char *from = strstr(json, pattern);
	size_t length = from == NULL ? 0 : strcspn(from += strlen(pattern), "\"");
	if (length >= size) length = size - 1;
	memcpy(text, from == NULL ? "" : from, length);
	text[length] = '\0';
}

static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message,
                       const mosquitto_property *properties)
{
	(void)client, (void)context, (void)properties;
	static char json[65536];
	char answered_id[65], stage[16], kind[32], words[1024];
	if (message->payloadlen <= 0 || (size_t)message->payloadlen >= sizeof json) return;
	memcpy(json, message->payload, (size_t)message->payloadlen);
	json[message->payloadlen] = '\0';
	text_of(json, "id", answered_id, sizeof answered_id);
	if (strcmp(answered_id, id) != 0) return;
	text_of(json, "stage", stage, sizeof stage);
	if (strcmp(stage, "applied") == 0) {
		const char *rev = strstr(json, "\"rev\":");
		printf("applied as revision %ld%s\n", rev == NULL ? 0L : strtol(rev + 6, NULL, 10),
		       strstr(json, "\"duplicate\":true") == NULL ? "" : " (sent before)");
		end_code = 0;
	} else if (strcmp(stage, "refused") == 0) {
		text_of(json, "kind", kind, sizeof kind);
		text_of(json, "message", words, sizeof words);
		printf("refused: %s: %s\n", kind, words);
		end_code = strstr(json, "\"retry\":\"same_id\"") == NULL ? 1 : 3;
	} else {
		printf("%s, not settled yet\n", stage);
	}
	answered = 1;
}

static void send_request(struct mosquitto *client)
{
	mosquitto_property *properties = NULL;
	check(mosquitto_property_add_string(&properties, MQTT_PROP_RESPONSE_TOPIC, reply_topic), "response topic");
	check(mosquitto_property_add_int32(&properties, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, (uint32_t)answer_s), "expiry");
	check(mosquitto_publish_v5(client, NULL, request_topic, (int)strlen(request), request, 1, false, properties), "publish");
	mosquitto_property_free_all(&properties);
}

static void loop_until(struct mosquitto *client, const int *done, time_t seconds)
{
	time_t deadline = time(NULL) + seconds;
	while (!*done && time(NULL) <= deadline) {
		if (mosquitto_loop(client, 200, 1) != MOSQ_ERR_SUCCESS) {
			struct timespec pause = {.tv_nsec = 500000000};
			nanosleep(&pause, NULL);
			mosquitto_reconnect(client);
		}
	}
}

int main(int argc, char **argv)
{
	const char *user = getenv("ARMBROKER_USER"), *password = getenv("ARMBROKER_PASSWORD");
	if (argc != 6 || user == NULL) {
		fprintf(stderr, "usage: ARMBROKER_USER=... [ARMBROKER_PASSWORD=...] %s HOST PORT ARM METRES_PER_SECOND ID_FILE\n", argv[0]);
		return 2;
	}
	if (getenv("ARMBROKER_ANSWER_S") != NULL) answer_s = atoi(getenv("ARMBROKER_ANSWER_S"));
	take_id(argv[5], argv[3], argv[4]);
	snprintf(request_topic, sizeof request_topic, "armbroker/v1/req/%s/%s/%s/SetTwistLinearSoftLimit", user, CONN, argv[3]);
	snprintf(reply_topic, sizeof reply_topic, "armbroker/v1/res/%s/%s/reply", user, CONN);
	snprintf(request, sizeof request,
	         "{\"id\":\"%s\",\"params\":{\"control_mode\":\"CARTESIAN_JOYSTICK\",\"twist_linear_soft_limit\":%s}}", id, argv[4]);

	mosquitto_lib_init();
	struct mosquitto *client = mosquitto_new(CONN, true, NULL);
	if (client == NULL) return 3;
	mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
	mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
	mosquitto_username_pw_set(client, user, password);
	mosquitto_connect_v5_callback_set(client, on_connect);
	mosquitto_subscribe_callback_set(client, on_subscribe);
	mosquitto_message_v5_callback_set(client, on_message);
	check(mosquitto_connect(client, argv[1], atoi(argv[2]), 30), "connect");
	loop_until(client, &subscribed, answer_s);
	for (int sent = 0; subscribed && !answered && sent < TRIES; sent++) {
		send_request(client);
		loop_until(client, &answered, answer_s);
	}
	if (!answered) printf("no answer: run it again\n");
	if (end_code != 3) remove(argv[5]);
	mosquitto_disconnect(client);
	mosquitto_destroy(client);
	mosquitto_lib_cleanup();
	return end_code;
}

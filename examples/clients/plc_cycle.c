/* Sends one SetTwistLinearSoftLimit as a PLC would: in cycles that never wait, MQTT 3.1.1 in fixed buffers, no library, no
 * heap, an id from a counter of starts in retentive memory. Give its user short replies ([clients.<user>] replies = "short"
 * in fleet.toml): at most 512 bytes.
 *
 *     cc -std=c11 -Wall -Wextra -Werror -o plc_cycle plc_cycle.c
 *     ARMBROKER_USER=plc3 ARMBROKER_PASSWORD=secret ./plc_cycle 127.0.0.1 1883 r12 0.2 retain.bin
 *
 * The request stays in retentive memory until its end is known: after a power cut it goes out again with the same id, and is
 * carried out once. Ends with 0: applied; 1: refused, nothing changed; 2: wrong use; 3: nobody knows yet, run it again. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CYCLE_MS = 10, SILENCE_MS = 5000, AGAIN_MS = 500, TRIES = 3, KEEP_ALIVE_S = 60, ROOM = 1024 };
enum state { CLOSED, CONNECTING, SUBSCRIBING, WAITING, ENDED };

/* What a PLC keeps over a power cut. */
static struct {
	unsigned boot, number;
	int open;  /* a request whose end is not known */
	char arm[64], value[16];
} retain;

static enum state state = CLOSED;
static unsigned char in[ROOM], out[ROOM];
static size_t in_size, out_size;
static int line = -1, tries, end_code = 3;
static long now_ms, since_ms, answer_ms = 12000;
static const char *host, *user, *password, *retain_path;
static int port;
static char id[24], reply_topic[192];

static void keep(void)
{
	int file = open(retain_path, O_WRONLY | O_CREAT, 0600);
	if (file < 0 || write(file, &retain, sizeof retain) != sizeof retain || fsync(file) != 0 || close(file) != 0) {
		perror(retain_path);
		exit(2);
	}
}

static void restore(const char *arm, const char *value)
{
	int file = open(retain_path, O_RDONLY);
	if (file >= 0 && read(file, &retain, sizeof retain) != sizeof retain) memset(&retain, 0, sizeof retain);
	if (file >= 0) close(file);
	if (retain.open && (strcmp(retain.arm, arm) != 0 || strcmp(retain.value, value) != 0)) {
		fprintf(stderr, "%s holds another request whose end is not known\n", retain_path);
		exit(2);
	}
	if (!retain.open) {
		retain.boot += 1;  /* a program that runs on raises `number` instead */
		retain.number = 1;
		retain.open = 1;
		snprintf(retain.arm, sizeof retain.arm, "%s", arm);
		snprintf(retain.value, sizeof retain.value, "%s", value);
		keep();
	}
	snprintf(id, sizeof id, "%u-%06u", retain.boot, retain.number);
}

static void byte(unsigned value) { if (out_size < ROOM) out[out_size++] = (unsigned char)value; }

static void text(const char *value)
{
	size_t length = strlen(value);
	byte((unsigned)(length >> 8)), byte((unsigned)length & 255);
	while (*value != '\0') byte((unsigned char)*value++);
}

/* Begin a packet; `finish` fills in its length, always in two bytes. */
static size_t begin(unsigned type) { byte(type), byte(0), byte(0); return out_size; }

static void finish(size_t from)
{
	size_t length = out_size - from;
	out[from - 2] = (unsigned char)((length & 127) | 128);
	out[from - 1] = (unsigned char)(length >> 7);
}

static void put_connect(void)
{
	size_t from = begin(0x10);
	text("MQTT"), byte(4), byte(password == NULL ? 0x82 : 0xC2), byte(0), byte(KEEP_ALIVE_S);
	text("plc-example"), text(user);
	if (password != NULL) text(password);
	finish(from);
}

static void put_subscribe(void)
{
	size_t from = begin(0x82);
	byte(0), byte(1), text(reply_topic), byte(1);
	finish(from);
}

static void put_request(void)
{
	char topic[256], json[256];
	snprintf(topic, sizeof topic, "armbroker/v1/req/%s/plc-example/%s/SetTwistLinearSoftLimit", user, retain.arm);
	int length = snprintf(json, sizeof json, "{\"id\":\"%s\",\"params\":{\"control_mode\":\"CARTESIAN_JOYSTICK\","
	                      "\"twist_linear_soft_limit\":%s}}", id, retain.value);
	size_t from = begin(tries == 0 ? 0x32 : 0x3A);
	text(topic), byte(0), byte(2);
	for (int at = 0; at < length; at++) byte((unsigned char)json[at]);
	finish(from);
	tries += 1;
	since_ms = now_ms;
}

static int has(const char *json, const char *part) { return strstr(json, part) != NULL; }

static void on_reply(const char *json)
{
	char mine[40];
	snprintf(mine, sizeof mine, "\"id\":\"%s\"", id);
	if (!has(json, mine)) return;
	const char *rev = strstr(json, "\"rev\":"), *kind = strstr(json, "\"kind\":\"");
	if (has(json, "\"stage\":\"applied\"")) {
		printf("applied as revision %ld%s\n", rev == NULL ? 0 : strtol(rev + 6, NULL, 10),
		       has(json, "\"duplicate\":true") ? " (sent before)" : "");
		end_code = 0;
	} else if (has(json, "\"stage\":\"refused\"")) {
		printf("refused: %.*s\n", kind == NULL ? 0 : (int)strcspn(kind + 8, "\""), kind == NULL ? "" : kind + 8);
		end_code = has(json, "\"retry\":\"same_id\"") ? 3 : 1;
	} else {
		printf("not settled yet\n");
	}
	if (end_code != 3) retain.open = 0, keep();
	state = ENDED;
}

static void lose(void)
{
	close(line);
	line = -1, in_size = out_size = 0, state = CLOSED, since_ms = now_ms;
}

static void take_packet(unsigned char *packet, size_t head, size_t length)
{
	unsigned char *body = packet + head;
	switch (packet[0] & 0xF0) {
	case 0x20:  /* CONNACK */
		if (length != 2 || body[1] != 0) { fprintf(stderr, "the MQTT server refuses: %d\n", body[1]); state = ENDED; return; }
		put_subscribe(), state = SUBSCRIBING;
		return;
	case 0x90:  /* SUBACK */
		put_request(), state = WAITING;
		return;
	case 0x30: {  /* PUBLISH, at most QoS 1 as it was asked for */
		size_t skip = 2u + ((size_t)body[0] << 8 | body[1]);
		if (packet[0] & 0x06) {
			byte(0x40), byte(2), byte(body[skip]), byte(body[skip + 1]);
			skip += 2;
		}
		if (skip < length) {
			unsigned char last = body[length];
			body[length] = '\0';
			on_reply((char *)body + skip);
			body[length] = last;
		}
	}
	}
}

/* Hand on the first packet if it is whole; whether it was. */
static int next_packet(void)
{
	size_t length = 0, head = 1, shift = 0;
	do {
		if (head >= in_size) return 0;
		length |= (size_t)(in[head] & 127) << shift, shift += 7;
	} while (in[head++] & 128 && head < 5);
	if (head + length >= ROOM) { lose(); return 0; }  /* no short replies: see above */
	if (in_size < head + length) return 0;
	take_packet(in, head, length);
	memmove(in, in + head + length, in_size - head - length);
	in_size -= head + length;
	return 1;
}

static void open_line(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1) { fprintf(stderr, "%s: no IPv4 address\n", host); exit(2); }
	line = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (line < 0) return;
	connect(line, (struct sockaddr *)&address, sizeof address);
	since_ms = now_ms, state = CONNECTING;
	put_connect();
}

/* One cycle. Nothing in it waits. */
static void cycle(void)
{
	if (state == CLOSED) {
		if (now_ms - since_ms >= AGAIN_MS) open_line();
		return;
	}
	if (state == WAITING && now_ms - since_ms >= answer_ms) {
		if (tries >= TRIES) { printf("no answer: run it again\n"); state = ENDED; return; }
		put_request();
	}
	if (state != WAITING && now_ms - since_ms >= SILENCE_MS) { lose(); return; }
	ssize_t sent = out_size == 0 ? 0 : send(line, out, out_size, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN) { lose(); return; }
	if (sent > 0) memmove(out, out + sent, out_size -= (size_t)sent);
	ssize_t got = recv(line, in + in_size, ROOM - in_size, 0);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN)) { lose(); return; }
	if (got > 0) in_size += (size_t)got;
	while (state != CLOSED && state != ENDED && next_packet()) continue;
}

int main(int argc, char **argv)
{
	user = getenv("ARMBROKER_USER"), password = getenv("ARMBROKER_PASSWORD");
	if (argc != 6 || user == NULL) {
		fprintf(stderr, "usage: ARMBROKER_USER=... [ARMBROKER_PASSWORD=...] %s IPV4 PORT ARM METRES_PER_SECOND RETAIN_FILE\n", argv[0]);
		return 2;
	}
	if (getenv("ARMBROKER_ANSWER_S") != NULL) answer_ms = atol(getenv("ARMBROKER_ANSWER_S")) * 1000;
	host = argv[1], port = atoi(argv[2]), retain_path = argv[5], since_ms = -AGAIN_MS;
	restore(argv[3], argv[4]);
	snprintf(reply_topic, sizeof reply_topic, "armbroker/v1/res/%s/plc-example/%s", user, id);
	while (state != ENDED && now_ms < 4 * TRIES * answer_ms) {
		cycle();
		nanosleep(&(struct timespec){.tv_nsec = CYCLE_MS * 1000000L}, NULL);
		now_ms += CYCLE_MS;
	}
	if (line >= 0) close(line);
	return end_code;
}

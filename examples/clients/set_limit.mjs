// Sends one SetTwistLinearSoftLimit to an arm over MQTT 5, with mqtt.js, and says what became of it.
//
//     npm install mqtt@5
//     ARMBROKER_USER=alice ARMBROKER_PASSWORD=secret node set_limit.mjs 127.0.0.1 1883 r12 0.2 request.id
//
// The id of the request is written to a file before the request is sent, and removed when its end is known. Run it again
// after a power cut or without an answer: the same request goes out with the same id, and is carried out once.
// Ends with 0: applied; 1: refused, nothing changed; 2: wrong use; 3: nobody knows yet, run it again.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import mqtt from "mqtt";

const CONN = "js-example";
const TRIES = 3;
const ANSWER_S = Number(process.env.ARMBROKER_ANSWER_S ?? 12); // the service answers within 10 s of accepting

const [host, port, arm, value, idFile] = process.argv.slice(2);
const { ARMBROKER_USER: username, ARMBROKER_PASSWORD: password } = process.env;
if (idFile === undefined || username === undefined) {
  console.error("usage: ARMBROKER_USER=... [ARMBROKER_PASSWORD=...] node set_limit.mjs HOST PORT ARM METRES_PER_SECOND ID_FILE");
  process.exit(2);
}

/** The id in the file, or a new one, written to it. */
function takeId() {
  const wanted = { arm, value };
  if (!existsSync(idFile)) {
    writeFileSync(idFile, JSON.stringify({ id: randomUUID(), ...wanted }), { flush: true });
  }
  const { id, ...kept } = JSON.parse(readFileSync(idFile, "utf8"));
  if (JSON.stringify(kept) !== JSON.stringify(wanted)) {
    console.error(`${idFile} holds another request whose end is not known`);
    process.exit(2);
  }
  return id;
}

const id = takeId();
const replies = `armbroker/v1/res/${username}/${CONN}/reply`;
const request = JSON.stringify({
  id,
  params: { control_mode: "CARTESIAN_JOYSTICK", twist_linear_soft_limit: Number(value) },
});

/** The reply to the request, or undefined. */
async function ask(client) {
  const answer = new Promise((resolve) => {
    client.on("message", (_topic, payload) => {
      const reply = JSON.parse(payload.toString());
      if (reply.id === id) resolve(reply);
    });
  });
  await client.subscribeAsync(replies, { qos: 1 });
  for (let sent = 0; sent < TRIES; sent += 1) {
    const properties = { responseTopic: replies, messageExpiryInterval: ANSWER_S };
    await client.publishAsync(`armbroker/v1/req/${username}/${CONN}/${arm}/SetTwistLinearSoftLimit`, request, { qos: 1, properties });
    const timer = new Promise((resolve) => setTimeout(resolve, ANSWER_S * 1000));
    const reply = await Promise.race([answer, timer]);
    if (reply !== undefined) return reply;
  }
  return undefined;
}

/** Says what a reply means, and returns the exit code. */
function tell(reply) {
  if (reply === undefined) {
    console.log("no answer: run it again");
    return 3;
  }
  if (reply.stage === "applied") {
    console.log(`applied as revision ${reply.rev}${reply.duplicate ? " (sent before)" : ""}`);
    return 0;
  }
  if (reply.stage === "refused") {
    console.log(`refused: ${reply.error.kind}: ${reply.error.message}`);
    return reply.error.retry === "same_id" ? 3 : 1;
  }
  console.log(`${reply.stage}, not settled yet`);
  return 3;
}

const client = await mqtt.connectAsync(`mqtt://${host}:${port}`, { protocolVersion: 5, clientId: CONN, username, password });
const code = tell(await ask(client));
if (code !== 3) rmSync(idFile);
await client.endAsync();
process.exit(code);

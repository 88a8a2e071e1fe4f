// What an answer holds and the client's protocol cannot is told: of a whole one in a header, of every
// one to the host.
import assert from "node:assert/strict";
import test from "node:test";

import { createGateway } from "pointsman";

const MESSAGE = { id: "m1", type: "message", role: "assistant", model: "m" };
const USAGE = { input_tokens: 3, output_tokens: 2 };
const STOP = { stop_reason: "stop_sequence", stop_sequence: "END" };
const WHOLE = { ...MESSAGE, content: [{ type: "text", text: "Hello." }], ...STOP, usage: USAGE };
const STREAM = [
  { type: "message_start", message: { ...MESSAGE, content: [], usage: USAGE } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: STOP, usage: USAGE },
  { type: "message_stop" },
];

const json = (value) => Response.json(value);
const frames = (events) =>
  new Response(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
    { headers: { "content-type": "text/event-stream" } },
  );

// Asks a gateway whose provider, Anthropic, answers so; gives the answer and what the host was told.
async function ask(upstream, wanted = {}) {
  const { path = "/v1/chat/completions", hears = true, status = 200, ...further } = wanted;
  const config = {
    version: 1,
    providers: { p: { protocol: "anthropic", api_key: { env: "KEY" } } },
    deployments: { east: { provider: "p", model: "m" } },
    groups: { g: { members: ["east"] } },
  };
  const told = [];
  const lost = hears ? (names, decision) => told.push({ names, decision }) : undefined;
  const gateway = createGateway(config, { env: { KEY: "k" }, fetch: async () => upstream.clone(), lost });
  const messages = [{ role: "user", content: "Hello?" }];
  const body = JSON.stringify({ model: "g", messages, max_tokens: 50, ...further });
  const request = new Request(`http://gateway.invalid${path}`, { method: "POST", body });
  const answer = await gateway.fetch(request);
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  if (status === 200) assert.match(text, /Hello\./);
  // The host is told when the answer is over, which its client may see first.
  await new Promise(setImmediate);
  const decision = Number(answer.headers.get("x-pointsman-decision"));
  return { header: answer.headers.get("x-pointsman-lost"), told, decision };
}

test("what a whole answer lost is in the header, and the host is told", async () => {
  const { header, told, decision } = await ask(json(WHOLE));
  assert.equal(header, "answer.stop_sequence");
  assert.deepEqual(told, [{ names: ["answer.stop_sequence"], decision }]);
});

test("what a stream lost is told to the host, with what its request lost before", async () => {
  const { header, told, decision } = await ask(frames(STREAM), { stream: true, seed: 7 });
  assert.equal(header, "seed");
  assert.deepEqual(told, [{ names: ["seed", "answer.stop_sequence"], decision }]);
});

test("a stream that breaks tells what it had lost", async () => {
  const { told, decision } = await ask(frames(STREAM.slice(0, -1)), { stream: true });
  assert.deepEqual(told, [{ names: ["answer.stop_sequence"], decision }]);
});

test("what never came to the client is not told", async () => {
  const unknown = { type: "video" };
  const block = { type: "content_block_start", index: 0, content_block: unknown };
  const { told } = await ask(frames([STREAM[0], block]), { stream: true, seed: 7, status: 502 });
  assert.deepEqual(told, []);
});

test("an answer that lost nothing is told to nobody", async () => {
  const path = "/v1/messages";
  for (const [upstream, stream] of [[json(WHOLE), false], [frames(STREAM), true]]) {
    const { header, told } = await ask(upstream, { path, stream });
    assert.equal(header, null);
    assert.deepEqual(told, []);
  }
});

test("a host need not listen", async () => {
  const { header } = await ask(json(WHOLE), { hears: false });
  assert.equal(header, "answer.stop_sequence");
});

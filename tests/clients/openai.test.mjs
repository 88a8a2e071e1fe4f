// OpenAI's own JavaScript client against `pointsman serve` in front of two mock upstreams.
import assert from "node:assert/strict";
import test from "node:test";

import OpenAI, { APIError, NotFoundError, RateLimitError } from "openai";

import { gateway, KEY, mock, recorder } from "./rig.mjs";

const ASK = { model: "chat", messages: [{ role: "user", content: "Hello?" }] };
const EAST = [{ ok: { text: "Hello from the east.", output_tokens: 4 } }];
const WEST = [{ ok: { text: "Hello from the west.", output_tokens: 4 } }];

// A client that never retries by itself, and keeps the last body it sent.
async function connect(t, upstreams, policy) {
  const { address } = await gateway(t, upstreams, policy);
  const kept = {};
  const client = new OpenAI({
    apiKey: "any",
    baseURL: `${address}/v1`,
    maxRetries: 0,
    timeout: 30_000,
    fetch: (url, init) => {
      kept.body = init.body;
      return fetch(url, init);
    },
  });
  return { client, kept };
}

// Two upstreams, of which `west` is the spare.
async function pair(t, { east = EAST, west = WEST, policy } = {}) {
  const upstreams = { east: await mock(t, "east", east), west: await mock(t, "west", west) };
  const { client } = await connect(t, upstreams, policy);
  const ask = (more = {}) => client.chat.completions.create({ ...ASK, ...more }).withResponse();
  return { ...upstreams, client, ask };
}

function assertServedBy(response, deployment, attempts) {
  assert.equal(response.headers.get("x-pointsman-group"), "chat");
  assert.equal(response.headers.get("x-pointsman-deployment"), deployment);
  assert.equal(response.headers.get("x-pointsman-attempts"), String(attempts));
}

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks) => chunks.map((one) => one.choices[0]?.delta.content ?? "").join("");
const requests = async (...upstreams) =>
  (await Promise.all(upstreams.map((one) => one.seen()))).map((seen) => seen.requests);

test("a whole answer", async (t) => {
  const { east, ask } = await pair(t);
  const { data, response } = await ask();
  assertServedBy(response, "east", 1);
  assert.equal(data.choices[0].message.content, "Hello from the east.");
  assert.equal(data.usage.completion_tokens, 4);
  assert.equal((await east.seen()).last_authorization, `Bearer ${KEY}`);
});

test("a stream", async (t) => {
  const { ask } = await pair(t);
  const { data, response } = await ask({ stream: true });
  const chunks = await all(data);
  assertServedBy(response, "east", 1);
  assert.equal(textOf(chunks), "Hello from the east.");
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
});

test("the client's own stream helper", async (t) => {
  const { client } = await pair(t);
  const answer = await client.chat.completions.stream(ASK).finalChatCompletion();
  assert.equal(answer.choices[0].message.content, "Hello from the east.");
});

test("usage is there when asked for, and only then", async (t) => {
  const { ask } = await pair(t);
  for (const [options, expected] of [
    [{}, []],
    [{ stream_options: { include_usage: true } }, [4]],
  ]) {
    const { data } = await ask({ stream: true, ...options });
    const chunks = (await all(data)).filter((chunk) => chunk.usage);
    assert.deepEqual(chunks.map((chunk) => chunk.usage.completion_tokens), expected);
  }
});

test("another upstream answers before first content", async (t) => {
  const policy = { timeouts: { first_token: "500ms" } };
  for (const [fault, stream] of [
    [{ status: 503 }, false],
    [{ kind: "reset" }, false],
    [{ status: 503, in_200: true }, true],
    [{ preamble: true, at_token: 0 }, true],
    [{ first_token: "20s", at_token: 1 }, true],
  ]) {
    const { ask } = await pair(t, { east: [{ fail: fault }], policy });
    const { data, response } = await ask({ stream });
    assertServedBy(response, "west", 2);
    const text = stream ? textOf(await all(data)) : data.choices[0].message.content;
    assert.equal(text, "Hello from the west.", JSON.stringify(fault));
  }
});

test("a cut after first content is an error, never a clean end", async (t) => {
  const fault = { kind: "reset", at_token: 3, output_tokens: 8 };
  const { east, west, ask } = await pair(t, { east: [{ fail: fault }] });
  const { data, response } = await ask({ stream: true });
  assertServedBy(response, "east", 1);
  const received = [];
  await assert.rejects(
    async () => {
      for await (const chunk of data) received.push(chunk);
    },
    (error) => error instanceof APIError && error.code === "broken_stream",
  );
  assert.equal(textOf(received), "Hello from east.");
  assert.ok(received.every((chunk) => chunk.choices[0].finish_reason === null));
  assert.deepEqual(await requests(east, west), [1, 0]);
});

test("a whole answer may take longer than a first token", async (t) => {
  const policy = { timeouts: { first_token: "200ms", answer: "20s" } };
  const { ask } = await pair(t, { east: [{ ok: { total: "1s" } }], policy });
  const { response } = await ask();
  assertServedBy(response, "east", 1);
});

test("an unknown model", async (t) => {
  const { east, west, ask } = await pair(t);
  await assert.rejects(
    ask({ model: "chta" }),
    (error) => error instanceof NotFoundError && error.code === "model_not_found",
  );
  assert.deepEqual(await requests(east, west), [0, 0]);
});

test("everybody is rate limited", async (t) => {
  const limited = (wait) => [{ fail: { status: 429, retry_after: wait } }];
  const { east, west, ask } = await pair(t, { east: limited("90s"), west: limited("60s") });
  // The first call learns it from the upstreams, the second one knows.
  for (const attempts of ["2", "0"]) {
    await assert.rejects(ask(), (error) => {
      assert.ok(error instanceof RateLimitError, String(error));
      assert.equal(error.code, "rate_limit_exceeded");
      assert.equal(error.headers.get("x-pointsman-attempts"), attempts);
      // When the earlier of the two lifts.
      const wait = Number(error.headers.get("retry-after"));
      assert.ok(wait >= 30 && wait <= 60, String(wait));
      return true;
    });
  }
  assert.deepEqual(await requests(east, west), [1, 1]);
});

test("a round trip with tools keeps every byte", async (t) => {
  // Spaces, escapes, an order and fields of its own: what is not ours to change must stay.
  const answer = String.raw`{ "id":"x", "object":"chat.completion","created":1e9,"model":"m",
    "choices":[ {"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",
    "content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather",
    "arguments":"{\"city\": \"M\u00fcnchen\"}"}}]}} ],"future":{"field":1.50},
    "usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14} }`;
  const only = await recorder(t, "application/json", answer);
  const { client, kept } = await connect(t, { only });
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const description = 'The weather: 5 °C, "rain" …';
  const tools = [{ type: "function", function: { name: "weather", description, parameters } }];
  const response = await client.chat.completions.create({ ...ASK, tools }).asResponse();
  assert.equal(await response.text(), answer);
  assert.equal(only.body, kept.body.replace('"model":"chat"', '"model":"model-only"'));
  assert.notEqual(only.body, kept.body);
});

// What every client is asked of every upstream, and what must come of it.
import assert from "node:assert/strict";

import { TOOLS } from "./speakers.mjs";

const FAST = { first_token: "1ms", per_token: "1ms" };
// The script of an upstream called `east`.
export const SCRIPT = [{ ok: { ...FAST, output_tokens: 3 } }];

async function plain(ask, _upstream, options) {
  const { text, finish } = await ask("Hello?", options);
  assert.equal(text, "Hello from east.");
  assert.equal(finish, "stop");
}

async function tools(ask, _upstream, options) {
  const { text, finish, calls } = await ask("Use the tools, please.", { ...options, tools: true });
  const called = calls.map(({ name, input }) => [name, input]);
  assert.deepEqual(called, Object.keys(TOOLS).map((name) => [name, { city: "sample" }]));
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
  for (const result of Object.values(TOOLS)) assert.match(text, new RegExp(result));
  assert.equal(finish, "stop");
}

async function image(ask, _upstream, options) {
  const { text } = await ask("What is this?", { ...options, image: true });
  assert.equal(text, "I see an image of type image/png.");
}

async function schema(ask, _upstream, options) {
  const { text } = await ask("Name a thing.", { ...options, schema: true });
  assert.deepEqual(JSON.parse(text), { name: "sample", count: 1 });
}

async function error(ask, upstream, options) {
  await upstream.play([{ fail: { status: 400, message: "temperature is too hot" } }]);
  await assert.rejects(ask("Hello?", options), (thrown) => {
    assert.match(thrown.message, /temperature is too hot/);
    assert.equal(thrown.status ?? thrown.statusCode, 400);
    return true;
  });
}

// What is cut after some content never looks whole.
async function broken(ask, upstream, { stream }) {
  if (!stream) return;
  for (const fault of [{ status: 503 }, { kind: "reset" }]) {
    await upstream.play([{ fail: { ...fault, at_token: 2, ...FAST } }]);
    await assert.rejects(ask("Hello?", { stream }));
  }
}

export const CASES = { plain, tools, image, schema, error, broken };

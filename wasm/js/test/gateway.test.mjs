// The gateway in front of real upstreams on real sockets.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";

import { createGateway } from "pointsman";

import { mock } from "./support/mock.mjs";

const URL = "http://gateway.invalid/v1/chat/completions";

// Two upstreams, the second one a spare.
async function pair(t, primary, backup = [{ ok: { text: "Hello from the spare." } }], policy = {}) {
  const [east, west] = await Promise.all([mock(t, "east", primary), mock(t, "west", backup)]);
  const provider = (one) => ({ protocol: "openai", base_url: one.baseUrl, api_key: { env: "KEY" } });
  const config = {
    version: 1,
    providers: { east: provider(east), west: provider(west) },
    deployments: {
      east: { provider: "east", model: "model-east" },
      west: { provider: "west", model: "model-west" },
    },
    groups: { g: { members: [{ deployment: "east", order: 1 }, { deployment: "west", order: 2 }] } },
    policy,
  };
  const gateway = createGateway(config, { env: { KEY: "sk-test" } });
  return { east, west, gateway };
}

function ask(gateway, body = {}, init = {}) {
  const messages = [{ role: "user", content: "Hello?" }];
  return gateway.fetch(
    new Request(URL, {
      method: "POST",
      body: JSON.stringify({ model: "g", messages, ...body }),
      ...init,
    }),
  );
}

// What the events of a stream carry.
const events = (text) =>
  text
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: "))
    .map((frame) => frame.slice(6))
    .map((data) => (data === "[DONE]" ? data : JSON.parse(data)));

const said = (chunks) => chunks.map((one) => one.choices?.[0]?.delta?.content ?? "").join("");

test("a whole answer comes from the primary, as it is", async (t) => {
  const { east, gateway } = await pair(t, [{ ok: { text: "Hello there.", output_tokens: 2 } }]);
  const answer = await ask(gateway);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.equal(answer.headers.get("x-pointsman-deployment"), "east");
  assert.equal(answer.headers.get("x-pointsman-attempts"), "1");
  const { choices, model } = await answer.json();
  assert.equal(choices[0].message.content, "Hello there.");
  assert.equal(model, "model-east");
  assert.equal((await east.seen()).last_authorization, "Bearer sk-test");
});

test("a stream comes through to its end", async (t) => {
  const { gateway } = await pair(t, [{ ok: { text: "a b c", output_tokens: 3 } }]);
  const answer = await ask(gateway, { stream: true });
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  const chunks = events(await answer.text());
  assert.equal(chunks.pop(), "[DONE]");
  assert.equal(said(chunks), "a b c");
  // Usage was asked for in the client's place, and stays with the gateway.
  assert.ok(chunks.every((chunk) => !chunk.usage));
});

for (const [name, fault] of [
  ["an error", { status: 500 }],
  ["a rate limit", { status: 429, retry_after: "2s" }],
  ["a reset", { kind: "reset" }],
  ["a refused connection", { kind: "connect" }],
  ["an error inside a 200", { status: 503, in_200: true }],
  ["a role-only frame and a cut", { preamble: true, at_token: 0 }],
  ["nonsense", { kind: "garbage" }],
]) {
  for (const stream of [false, true]) {
    test(`${name} is met by the spare, ${stream ? "streamed" : "whole"}`, async (t) => {
      const { east, gateway } = await pair(t, [{ fail: fault }]);
      const answer = await ask(gateway, { stream });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("x-pointsman-deployment"), "west");
      assert.equal(answer.headers.get("x-pointsman-attempts"), "2");
      assert.match(await answer.text(), stream ? /\[DONE\]\n\n$/ : /Hello from the spare/);
      assert.equal((await east.seen()).requests, 1);
    });
  }
}

test("an upstream that stays silent is given up at its clock and closed", async (t) => {
  const policy = { timeouts: { first_token: "300ms", answer: "300ms" } };
  const { east, gateway } = await pair(t, [{ fail: { kind: "hang" } }], undefined, policy);
  const answer = await ask(gateway, { stream: true });
  assert.equal(answer.headers.get("x-pointsman-deployment"), "west");
  await answer.text();
  await until(async () => (await east.seen()).aborted === 1);
});

test("a stream cut after content ends with an error, never clean", async (t) => {
  for (const kind of ["cut", "reset"]) {
    const { west, gateway } = await pair(t, [{ fail: { kind, at_token: 5 } }]);
    const answer = await ask(gateway, { stream: true });
    assert.equal(answer.headers.get("x-pointsman-deployment"), "east");
    const chunks = events(await answer.text());
    assert.ok(chunks.at(-1).error, kind);
    assert.ok(!chunks.includes("[DONE]"));
    assert.ok(chunks.every((chunk) => chunk.choices?.[0]?.finish_reason !== "stop"));
    assert.equal((await west.seen()).requests, 0);
  }
});

test("a stream that stalls after content ends with an error at the idle clock", async (t) => {
  const policy = { timeouts: { idle: "300ms" } };
  const { gateway } = await pair(t, [{ fail: { kind: "hang", at_token: 5 } }], undefined, policy);
  const chunks = events(await (await ask(gateway, { stream: true })).text());
  assert.ok(chunks.at(-1).error);
});

test("a stream that is only kept alive has stalled, and one that goes on has not", async (t) => {
  const delta = (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
  for (const [more, stalls] of [[": still here\n\n", true], [delta(""), true], [delta("on"), false]]) {
    const upstream = createServer(async (request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(delta("Hello"));
      // Longer than what is only kept alive may last.
      for (let n = 0; n < 60 && !response.destroyed; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 30));
        response.write(more);
      }
      response.end("data: [DONE]\n\n");
    });
    await new Promise((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    t.after(() => (upstream.closeAllConnections(), upstream.close()));
    const base = `http://127.0.0.1:${upstream.address().port}/v1`;
    const config = {
      version: 1,
      providers: { p: { protocol: "openai", base_url: base, api_key: { env: "KEY" } } },
      deployments: { d: { provider: "p", model: "m" } },
      groups: { g: { members: ["d"] } },
      policy: { timeouts: { idle: "250ms" } },
    };
    const gateway = createGateway(config, { env: { KEY: "sk-test" } });
    const chunks = events(await (await ask(gateway, { stream: true })).text());
    assert.equal(Boolean(chunks.at(-1).error), stalls, more);
    assert.equal(chunks.includes("[DONE]"), !stalls, more);
  }
});

test("a client that leaves closes the upstream", async (t) => {
  const slow = [{ ok: { per_token: "50ms", output_tokens: 200 } }];
  const { east, gateway } = await pair(t, slow);
  const answer = await ask(gateway, { stream: true });
  const reader = answer.body.getReader();
  await reader.read();
  await reader.cancel();
  await until(async () => (await east.seen()).aborted === 1);
});

test("a client that leaves before the answer closes the upstream", async (t) => {
  const { east, gateway } = await pair(t, [{ fail: { kind: "hang" } }]);
  const leaving = new AbortController();
  const answer = ask(gateway, {}, { signal: leaving.signal });
  await until(async () => (await east.seen()).in_flight === 1);
  leaving.abort();
  assert.equal((await answer).status, 499);
  await until(async () => (await east.seen()).aborted === 1);
});

test("when all fail the client sees the last failure and is told not to retry", async (t) => {
  const { gateway } = await pair(t, [{ fail: { status: 500 } }], [{ fail: { status: 500 } }], {
    retry: { max_attempts: 2 },
  });
  const answer = await ask(gateway);
  assert.equal(answer.status, 502);
  assert.equal(answer.headers.get("x-should-retry"), "false");
  assert.ok((await answer.json()).error.message);
});

test("a bad request goes nowhere else, and the provider's words come back", async (t) => {
  const fault = { status: 400, message: "temperature is out of range" };
  const { west, gateway } = await pair(t, [{ fail: fault }]);
  const answer = await ask(gateway, { temperature: 99 });
  assert.equal(answer.status, 400);
  assert.equal((await answer.json()).error.message, fault.message);
  assert.equal((await west.seen()).requests, 0);
});

test("our own refusals have OpenAI's shape", async (t) => {
  const { gateway } = await pair(t);
  const unknown = await ask(gateway, { model: "nobody" });
  assert.equal(unknown.status, 404);
  assert.equal((await unknown.json()).error.code, "model_not_found");
  const broken = await gateway.fetch(URL, { method: "POST", body: "{" });
  assert.equal(broken.status, 400);
  const elsewhere = await gateway.fetch("http://gateway.invalid/v1/files");
  assert.equal(elsewhere.status, 404);
  assert.equal((await elsewhere.json()).error.code, "unsupported_endpoint");
  const models = await (await gateway.fetch("http://gateway.invalid/v1/models")).json();
  assert.deepEqual(models.data.map((model) => model.id), ["g"]);
});

test("a request larger than allowed is refused", async () => {
  const gateway = createGateway({
    version: 1,
    server: { max_body: "1KiB" },
    providers: { p: { protocol: "openai" } },
    deployments: { d: { provider: "p", model: "m" } },
    groups: { g: { members: ["d"] } },
  });
  const answer = await ask(gateway, { padding: "x".repeat(2000) });
  assert.equal(answer.status, 413);
});

test("every fault of a configuration is reported at once", async () => {
  const gateway = createGateway({ version: 1, groops: {}, groups: { g: { members: ["nobody"] } } });
  await assert.rejects(ask(gateway), (error) => {
    assert.ok(error.faults.length >= 2, error.message);
    assert.ok(error.faults.some((fault) => fault.includes("groops")));
    return true;
  });
});

test("a key that would restrict or store something is refused, not ignored", async () => {
  const gateway = createGateway({
    version: 1,
    providers: { p: { protocol: "openai" } },
    deployments: { d: { provider: "p", model: "m" } },
    groups: { g: { members: ["d"] } },
    metering: { usage_log: "./usage.jsonl" },
    state: { store: { embedded: "./state.db" } },
  });
  await assert.rejects(ask(gateway), ({ faults }) => {
    assert.deepEqual(faults.map((fault) => fault.split(/[.:]/)[0]), ["metering", "state"]);
    return true;
  });
});

// Polls for at most five seconds.
async function until(condition) {
  for (let tries = 0; tries < 250; tries++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail("it did not come about in time");
}

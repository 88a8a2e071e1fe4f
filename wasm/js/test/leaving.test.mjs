// What hosts and clients do at odd moments, in front of a `fetch` of the test's own.
import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { createGateway } from "pointsman";

const frame = (text) =>
  new TextEncoder().encode(`data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`);
const head = { status: 200, headers: { "content-type": "text/event-stream" } };

// A gateway whose deployments `east` and `west` take one call at a time each.
function gatewayOver(fetch, hosts = {}) {
  const provider = (name) => ({ protocol: "openai", base_url: `http://${name}.invalid/v1` });
  const one = (name) => ({ provider: name, model: "m", limits: { concurrent: 1 } });
  const config = {
    version: 1,
    providers: { east: provider("east"), west: provider("west") },
    deployments: { east: one("east"), west: one("west") },
    groups: {
      both: { members: [{ deployment: "east", order: 1 }, { deployment: "west", order: 2 }] },
      solo: { members: ["east"] },
    },
  };
  return createGateway(config, { fetch, ...hosts });
}

const ask = (gateway, body = {}, init = {}) =>
  gateway.fetch("http://gateway.invalid/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ model: "solo", messages: [{ role: "user", content: "hi" }], ...body }),
    ...init,
  });

// An upstream that streams without end, as fast as it is read.
function endless(seen = []) {
  return async (_url, { signal }) => {
    seen.push(signal);
    return new Response(new ReadableStream({ pull: (to) => to.enqueue(frame("on ")) }), head);
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function until(holds) {
  for (let n = 0; n < 10_000 && !holds(); n += 1) await turn();
  assert.ok(holds(), String(holds));
}

test("a client that aborts while it does not read closes the upstream", async () => {
  const seen = [];
  const gateway = gatewayOver(endless(seen));
  const leaving = new AbortController();
  const answer = await ask(gateway, { stream: true }, { signal: leaving.signal });
  for (let n = 0; n < 100; n += 1) await turn();
  assert.equal((await ask(gateway)).status, 429, "the first call is in flight");
  leaving.abort();
  await until(() => seen[0].aborted);
  // What was cut does not look whole.
  await assert.rejects(answer.text(), { name: "AbortError" });
  const next = await ask(gateway, { stream: true });
  assert.equal(next.status, 200, "the first call has given back what it held");
  await next.body.cancel();
});

test("a client that neither reads nor leaves is given up", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const seen = [];
  const gateway = gatewayOver(endless(seen));
  const answer = await ask(gateway, { stream: true });
  for (let n = 0; n < 100; n += 1) await turn();
  t.mock.timers.tick(59_000);
  for (let n = 0; n < 100; n += 1) await turn();
  assert.ok(!seen[0].aborted);
  t.mock.timers.tick(2_000);
  await until(() => seen[0].aborted);
  await assert.rejects(answer.text(), { name: "AbortError" });
});

test("what has been passed on is not kept until the stream ends", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  const pieces = [];
  const body = new ReadableStream({
    pull(to) {
      const piece = frame("on ");
      pieces.push(new WeakRef(piece));
      to.enqueue(piece);
    },
  });
  const answer = await ask(gatewayOver(async () => new Response(body, head)), { stream: true });
  const reader = answer.body.getReader();
  for (let n = 0; n < 500; n += 1) await reader.read();
  await turn();
  gc();
  const kept = pieces.filter((piece) => piece.deref()).length;
  assert.ok(kept < 50, `${kept} of ${pieces.length} pieces are kept`);
  await reader.cancel();
});

for (const [name, broken] of [
  ["throws", () => { throw new TypeError("no such host"); }],
  ["returns nothing", () => undefined],
  ["gives no response", async () => ({})],
  ["rejects", async () => { throw new TypeError("refused"); }],
]) {
  test(`where \`fetch\` ${name}, another deployment answers and nothing stays held`, async () => {
    const whole = '{"choices":[{"index":0,"message":{"content":"west"},"finish_reason":"stop"}]}';
    const json = { headers: { "content-type": "application/json" } };
    const fetch = (url) => (url.includes("east") ? broken() : Promise.resolve(new Response(whole, json)));
    const gateway = gatewayOver(fetch);
    for (let n = 0; n < 3; n += 1) {
      const answer = await ask(gateway, { model: "both" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("x-pointsman-deployment"), "west");
      assert.match(await answer.text(), /west/);
    }
  });
}

test("a call that cannot go on rejects, and gives back what it held", async () => {
  let faults = 0;
  const now = () => {
    if (faults-- > 0) throw new RangeError("no time");
    return Date.now() * 1000;
  };
  const fetch = (...all) => ((faults = 1), endless()(...all));
  const gateway = gatewayOver(fetch, { now });
  await assert.rejects(ask(gateway, { stream: true }), RangeError);
  // Refused it would be, were the first call still in flight.
  await assert.rejects(ask(gateway, { stream: true }), RangeError);
});

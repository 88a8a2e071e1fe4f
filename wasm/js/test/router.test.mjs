// The router alone: the run loop of a host that does its own sending.
import assert from "node:assert/strict";
import test from "node:test";

import { Router } from "pointsman";

const START = 1_767_225_600_000_000;
const SECOND = 1_000_000;

const config = {
  version: 1,
  providers: { p: { protocol: "openai" } },
  deployments: { east: { provider: "p", model: "m" }, west: { provider: "p", model: "m" } },
  groups: { g: { members: [{ deployment: "east", order: 1 }, { deployment: "west", order: 2 }] } },
};

const router = () => new Router(config, {}, START);
const throttled = { kind: "rate_limited", status: 429, retryAfter: 7 * SECOND };

test("one call from its begin to its end", () => {
  const routing = router();
  const [call, sent] = routing.begin({ model: "g", stream: true, inputTokens: 10 }, 7, START);
  assert.equal(sent.type, "send");
  assert.deepEqual([sent.deployment, sent.group, sent.attempt], ["east", "g", 1]);
  assert.equal(sent.clocks.firstContent, 30 * SECOND);

  const failed = { type: "failed", attempt: 1, failure: throttled };
  const again = routing.resume(call, failed, START + 1);
  assert.deepEqual([again.type, again.deployment, again.attempt], ["send", "west", 2]);

  const ready = { type: "ready", attempt: 2, firstContentAt: START + 2 };
  assert.deepEqual(routing.resume(call, ready, START + 2), { type: "relay", attempt: 2 });

  const usage = { input: 10, output: 3 };
  const completed = { type: "completed", attempt: 2, usage, endedAt: START + 3 };
  const { type, outcome, status } = routing.resume(call, completed, START + 3);
  assert.deepEqual([type, status], ["finish", 200]);
  assert.deepEqual([outcome.type, outcome.by, outcome.attempts], ["served", "west", 2]);
  assert.equal(outcome.usage.output, 3);
  assert.throws(() => routing.resume(call, { type: "due" }, START + 4), /call is over/);
  call.free();
});

test("one seed gives one answer", () => {
  const many = { ...config, groups: { g: { members: ["east", "west"] } } };
  const draw = () => {
    const routing = new Router(many, {}, START);
    return Array.from({ length: 50 }, (_, seed) =>
      routing.begin({ model: "g" }, seed, START)[1].deployment,
    );
  };
  assert.deepEqual(draw(), draw());
  assert.deepEqual(new Set(draw()), new Set(["east", "west"]));
});

test("an explanation names the choice and moves nothing", () => {
  const routing = router();
  const before = routing.snapshot();
  const trace = routing.explain({ model: "g" }, 1, START);
  assert.equal(trace.requested, "g");
  const { candidates } = trace.entries.find((entry) => entry.what === "decision");
  assert.deepEqual(candidates.map((one) => one.verdict), ["chosen", "later_tier"]);
  assert.equal(routing.snapshot(), before);
});

test("a snapshot carries what was learnt", () => {
  const routing = router();
  const [call] = routing.begin({ model: "g" }, 1, START);
  routing.resume(call, { type: "failed", attempt: 1, failure: throttled }, START);
  const [change] = routing.drainChanges();
  assert.deepEqual([change.deployment, change.throttled_for], ["east", 7 * SECOND]);
  const restored = Router.restore(config, {}, routing.snapshot(), START + SECOND);
  assert.equal(restored.begin({ model: "g" }, 1, START + SECOND)[1].deployment, "west");
  assert.equal(restored.begin({ model: "g" }, 1, START + 8 * SECOND)[1].deployment, "east");
  assert.throws(() => Router.restore(config, {}, "{}", START), /snapshot/);
});

test("what does not fit is an error that names it", () => {
  const routing = router();
  assert.throws(() => routing.begin({ modle: "g" }, 1, START), /request: .*`modle`/);
  assert.throws(() => routing.begin({ model: "g" }, 1.5, START), /`seed` must be a whole number/);
  assert.throws(() => routing.begin({ model: "g" }, 1, -1), /`now` must be a whole number/);
  const [call] = routing.begin({ model: "g" }, 1, START);
  assert.throws(() => routing.resume(call, { type: "dew" }, START), /event: .*`dew`/);
  const ranked = { type: "ranked", candidates: ["north"] };
  assert.throws(() => routing.resume(call, ranked, START), /no deployment is named `north`/);
  assert.throws(() => new Router("{", {}, START), /config: /);
});

test("a configuration may come as text", () => {
  const routing = new Router(JSON.stringify(config), {}, START);
  assert.equal(routing.begin({ model: "g" }, 1, START)[1].deployment, "east");
});

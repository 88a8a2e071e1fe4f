// The npm package in the runtimes that it names, besides Node: real sockets, on both sides.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Miniflare } from "miniflare";

import { mock } from "../../wasm/js/test/support/mock.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const MESSAGES = [{ role: "user", content: "Hello?" }];

// Each gives the address of a gateway with this configuration.
const RUNTIMES = {
  async workerd(t, config) {
    const worker = new Miniflare({
      host: "127.0.0.1",
      port: 0,
      compatibilityDate: "2026-04-01",
      bindings: { CONFIG: config },
      modules: true,
      modulesRoot: root,
      scriptPath: join(here, "worker.js"),
      modulesRules: [
        { type: "CompiledWasm", include: ["**/*.wasm"] },
        { type: "ESModule", include: ["**/*.js"] },
      ],
    });
    t.after(() => worker.dispose());
    return (await worker.ready).origin;
  },
  bun: (t, config) => serve(t, program("@oven", "bin/bun"), ["served.mjs", config]),
  deno: (t, config) =>
    serve(t, program("@deno", "deno"), [
      "run", "--node-modules-dir=manual", "--no-lock", "--allow-net=127.0.0.1", "served.mjs", config,
    ]),
};

// The program for this machine: the packages install no other, and none of their scripts has run.
function program(scope, file) {
  const folder = join(here, "node_modules", scope);
  const [own] = readdirSync(folder);
  return join(folder, own, file);
}

async function serve(t, program, args) {
  const child = spawn(program, args, { cwd: here, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill());
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`${program} ended with ${code}`);
  });
  const [port] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), failed]);
  failed.catch(() => {});
  return `http://127.0.0.1:${port}`;
}

// Until it holds, for as long as a busy machine may need.
async function until(holds) {
  for (let tries = 0; tries < 200; tries++) {
    if (await holds()) return;
    await setTimeout(50);
  }
  assert.fail("it did not come to hold");
}

for (const [name, start] of Object.entries(RUNTIMES)) {
  test(`${name}: fails over, translates, streams, and tells the upstream when a client leaves`, async (t) => {
    const east = await mock(t, "east", [{ fail: { status: 503 } }]);
    const west = await mock(t, "west", [{ ok: { first_token: "5ms", per_token: "5ms", output_tokens: 3 } }]);
    const address = await start(t, JSON.stringify({
      version: 1,
      providers: {
        east: { protocol: "openai", base_url: east.baseUrl },
        west: { protocol: "anthropic", base_url: west.baseUrl.replace("/v1", "") },
      },
      deployments: {
        east: { provider: "east", model: "model-east" },
        west: { provider: "west", model: "model-west" },
      },
      groups: { g: { members: [{ deployment: "east", order: 1 }, { deployment: "west", order: 2 }] } },
    }));
    const ask = (body, init = {}) =>
      fetch(`${address}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model: "g", messages: MESSAGES, ...body }),
        ...init,
      });

    const whole = await ask({});
    assert.equal(whole.status, 200);
    assert.equal(whole.headers.get("x-pointsman-deployment"), "west");
    assert.equal(whole.headers.get("x-pointsman-attempts"), "2");
    assert.equal((await whole.json()).choices[0].message.content, "Hello from west.");

    const streams = await Promise.all(
      Array.from({ length: 50 }, async () => (await ask({ stream: true })).text()),
    );
    for (const stream of streams) {
      assert.ok(stream.includes('"finish_reason":"stop"'), stream);
      assert.ok(stream.endsWith("data: [DONE]\n\n"), stream);
    }

    const unknown = await ask({ model: "nobody" });
    assert.equal(unknown.status, 404);
    assert.equal((await unknown.json()).error.code, "model_not_found");

    await west.play([{ ok: { first_token: "5ms", per_token: "50ms", output_tokens: 10_000 } }]);
    const leaving = new AbortController();
    const left = await ask({ stream: true }, { signal: leaving.signal });
    await left.body.getReader().read();
    leaving.abort();
    await until(async () => (await west.seen()).in_flight === 0);
    assert.equal((await west.seen()).aborted, 1);
  });
}

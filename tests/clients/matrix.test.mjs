// Every client in front of every provider protocol, through `pointsman serve`.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { CASES, SCRIPT } from "./cases.mjs";
import { mock, provider, serve } from "./rig.mjs";
import { SPEAKERS } from "./speakers.mjs";

const PROVIDERS = ["openai", "azure", "anthropic", "gemini", "bedrock"];
// Pairs that the gateway does not speak yet.
const notYet = JSON.parse(await readFile(new URL("not_yet.json", import.meta.url), "utf8"));

for (const protocol of PROVIDERS) {
  test(protocol, async (t) => {
    const upstream = await mock(t, "east", SCRIPT);
    const gateway = await serve(t, {
      version: 1,
      providers: { east: provider(protocol, upstream.address) },
      deployments: { east: { provider: "east", model: "model-east" } },
      groups: { chat: { members: ["east"] } },
      policy: { retry: { max_attempts: 1 } },
    });
    for (const [client, speaker] of Object.entries(SPEAKERS)) {
      if (notYet[speaker.protocol].includes(protocol)) continue;
      const ask = speaker.connect(gateway.address, "chat");
      for (const stream of [false, true]) {
        for (const [name, run] of Object.entries(CASES)) {
          await t.test(`${client}: ${name}${stream ? ", streamed" : ""}`, async () => {
            await upstream.play(SCRIPT);
            await run(ask, upstream, { stream });
            assert.equal((await upstream.seen()).last_model, "model-east");
          });
        }
      }
    }
  });
}

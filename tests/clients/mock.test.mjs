// Real clients straight in front of `pointsman mock`: what it says is what they take for a provider.
import test from "node:test";

import { CASES, SCRIPT } from "./cases.mjs";
import { mock } from "./rig.mjs";
import { SPEAKERS } from "./speakers.mjs";

for (const [client, { connect }] of Object.entries(SPEAKERS)) {
  test(client, async (t) => {
    const upstream = await mock(t, "east", SCRIPT);
    const ask = connect(upstream.address, "some-model");
    for (const stream of [false, true]) {
      for (const [name, run] of Object.entries(CASES)) {
        await t.test(stream ? `${name}, streamed` : name, async () => {
          await upstream.play(SCRIPT);
          await run(ask, upstream, { stream });
        });
      }
    }
  });
}

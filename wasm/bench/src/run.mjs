// What a decision costs in WASM: the loop of the native benchmark, by the clock of this host. Times
// are the least of many rounds on a machine that may be busy.
import { readFileSync } from "node:fs";
import { initSync, Load } from "./core.js";

const ROUNDS = 400;
const MEMBERS = [10, 100, 1000];

initSync({ module: readFileSync(new URL("core_bg.wasm", import.meta.url)) });

console.log(`\n| in WASM (Node ${process.versions.node}) | members | begin to Send | Ready | Completed |`);
console.log("| --- | ---: | ---: | ---: | ---: |");
for (const members of MEMBERS) {
  const load = new Load(members);
  const best = { begin: Infinity, ready: Infinity, complete: Infinity };
  for (let round = 0; round < ROUNDS; round++) {
    load.prepare();
    for (const phase of Object.keys(best)) {
      const start = performance.now();
      load[phase]();
      best[phase] = Math.min(best[phase], performance.now() - start);
    }
  }
  const each = Object.values(best).map((ms) => `${Math.round((ms * 1e6) / Load.callsOfRound())} ns`);
  console.log(`| predicted | ${members} | ${each.join(" | ")} |`);
  load.free();
}

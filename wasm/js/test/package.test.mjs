// The package as its users load it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import { runInNewContext } from "node:vm";

import * as imported from "pointsman";

const require = createRequire(import.meta.url);
const manifest = require("pointsman/package.json");

test("import and require give the same working engine", () => {
  const required = require("pointsman");
  assert.equal(imported.version(), manifest.version);
  assert.equal(required.version(), manifest.version);
});

test("every file the exports name is there", () => {
  const named = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry),
  );
  for (const file of named) {
    assert.ok(readFileSync(new URL(`../${file}`, import.meta.url)).length > 0, file);
  }
});

test("a module from another realm is taken", async () => {
  const bytes = readFileSync(new URL("../dist/core_bg.wasm", import.meta.url));
  const module = runInNewContext("new WebAssembly.Module(bytes)", { bytes });
  assert.ok(!(module instanceof WebAssembly.Module));
  // The query makes it a copy of its own, with nothing loaded yet.
  const core = await import("../dist/core.js?another");
  core.initSync({ module });
  assert.equal(core.version(), manifest.version);
});

test("importing it and making a gateway reads no clock and draws no chance", () => {
  const script = `
    const forbid = (name) => () => { throw new Error(name + " at global scope"); };
    Date.now = forbid("Date.now");
    Math.random = forbid("Math.random");
    performance.now = forbid("performance.now");
    crypto.getRandomValues = forbid("getRandomValues");
    globalThis.fetch = forbid("fetch");
    globalThis.setTimeout = forbid("setTimeout");
    const { createGateway } = await import("pointsman");
    createGateway({ version: 1 });
    process.stdout.write("pure");`;
  const folder = new URL("..", import.meta.url);
  const options = { cwd: folder, encoding: "utf8" };
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], options);
  assert.equal(output, "pure");
});

// Every scenario, native and in WASM, with every decision: the same bytes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// The package and what it is tested with, from its own folder.
const require = createRequire(new URL("../../wasm/js/package.json", import.meta.url));
const { parseAllDocuments } = require("yaml");
const { runScenario } = require("pointsman");

const name = process.platform === "win32" ? "scenario-reports.exe" : "scenario-reports";
const native = fileURLToPath(new URL(`../../target/debug/examples/${name}`, import.meta.url));
const folder = (name) => fileURLToPath(new URL(`../${name}/`, import.meta.url));
const named = (folder, ending) => readdirSync(folder).filter((file) => file.endsWith(ending));
const paths = ["scenarios", "traces"].map(folder).flatMap((folder) => named(folder, ".yaml").map((file) => folder + file));
const recording = (file) => [file, JSON.stringify(readFileSync(folder("traces") + file, "utf8"))];
const recordings = Object.fromEntries(named(folder("traces"), ".csv").map(recording));

test("there are scenarios", () => assert.ok(paths.length > 50, `${paths.length} files`));

for (const path of paths) {
  test(basename(path), async () => {
    const options = { maxBuffer: 1 << 28 };
    const { stdout } = await promisify(execFile)(native, [path], options);
    const documents = parseAllDocuments(readFileSync(path, "utf8"));
    const here = documents.map((one) => runScenario(JSON.stringify(one.toJS()), true, recordings));
    assert.ok(here.every((report) => JSON.parse(report).calls.every((call) => call.trace)));
    assert.equal(here.map((report) => `${report}\n`).join(""), stdout);
  });
}

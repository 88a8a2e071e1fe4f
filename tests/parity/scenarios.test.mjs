// Every scenario, native and in WASM, with every decision: the same bytes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// The package and what it is tested with, from its own folder.
const require = createRequire(new URL("../../wasm/js/package.json", import.meta.url));
const { parseAllDocuments } = require("yaml");
const { runScenario } = require("pointsman");

const name = process.platform === "win32" ? "scenario-reports.exe" : "scenario-reports";
const native = fileURLToPath(new URL(`../../target/debug/examples/${name}`, import.meta.url));
const folder = fileURLToPath(new URL("../scenarios/", import.meta.url));
const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));

test("there are scenarios", () => assert.ok(files.length > 50, `${files.length} files`));

for (const file of files) {
  test(file, async () => {
    const options = { maxBuffer: 1 << 28 };
    const { stdout } = await promisify(execFile)(native, [folder + file], options);
    const documents = parseAllDocuments(readFileSync(folder + file, "utf8"));
    const here = documents.map((one) => runScenario(JSON.stringify(one.toJS()), true, {}));
    assert.ok(here.every((report) => JSON.parse(report).calls.every((call) => call.trace)));
    assert.equal(here.map((report) => `${report}\n`).join(""), stdout);
  });
}

// The journal of a generated run, written natively and executed again in WASM: the same bytes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const require = createRequire(new URL("../../wasm/js/package.json", import.meta.url));
const { replayJournal } = require("pointsman");

const name = process.platform === "win32" ? "generated-journal.exe" : "generated-journal";
const native = fileURLToPath(new URL(`../../target/debug/examples/${name}`, import.meta.url));

test("a journal of ten thousand calls replays to the same in WASM", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pointsman-"));
  try {
    const file = join(folder, "journal");
    const { stdout } = await promisify(execFile)(native, [file]);
    const journal = readFileSync(file);
    // The replay compares every byte; its summary has the hash over all inputs and answers.
    assert.equal(`${replayJournal(journal)}\n`, stdout);
    assert.equal(JSON.parse(stdout).calls, 10_000);
    const forged = Buffer.from(journal);
    forged[forged.length - 1] ^= 1;
    assert.ok(JSON.parse(replayJournal(forged)).differs, "a forged record is noticed");
    assert.throws(() => replayJournal(journal.subarray(1)), /no journal/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

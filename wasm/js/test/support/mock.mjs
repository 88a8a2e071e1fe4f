// A mock upstream of the native host, as a child process on a free port.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const name = process.platform === "win32" ? "pointsman.exe" : "pointsman";
const binary =
  process.env.POINTSMAN ??
  fileURLToPath(new URL(`../../../../target/debug/${name}`, import.meta.url));

// Starts one; it is stopped when the test `t` ends.
export async function mock(t, label, script = [{ ok: {} }]) {
  const child = spawn(binary, ["mock", "--listen", "127.0.0.1:0", "--name", label], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  const failed = once(child, "error").then(([error]) => {
    throw new Error(`${binary}: ${error.message} (cargo build --package pointsman makes it)`);
  });
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), failed]);
  const address = line.replace("listening on ", "");
  const play = async (script) => {
    const answer = await fetch(`${address}/script`, { method: "POST", body: JSON.stringify(script) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  await play(script);
  return {
    baseUrl: `${address}/v1`,
    play,
    body: async (at) => (await fetch(`${address}/seen/body/${at}`)).json(),
    seen: async () => (await fetch(`${address}/seen`)).json(),
  };
}

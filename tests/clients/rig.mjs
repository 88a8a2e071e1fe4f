// Gateways and upstreams as child processes on free ports, for one test each.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const binary =
  process.env.POINTSMAN ?? fileURLToPath(new URL("../../target/debug/pointsman", import.meta.url));
export const KEY = "sk-upstream-secret";
const ANY_PORT = "127.0.0.1:0";

// Starts `pointsman`; resolves when it has said where it listens. It is stopped when `t` ends.
async function start(t, args, env = {}) {
  const child = spawn(binary, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  const ended = once(child, "close").catch((error) => (log += error.message));
  const stop = async () => {
    child.kill();
    await ended;
  };
  t.after(stop);
  const line = once(createInterface({ input: child.stdout }), "line");
  const first = await Promise.race([line, ended.then(() => [""])]);
  const address = /^listening on (.+)$/.exec(first[0])?.[1];
  if (!address) throw new Error(`${args}: no address, but ${first[0]} and ${log}`);
  return { address, stop };
}

// A mock upstream called `name`, which plays a fault script.
export async function mock(t, name, script) {
  const { address, stop } = await start(t, ["mock", "--listen", ANY_PORT, "--name", name]);
  const play = async (script) => {
    const body = JSON.stringify(script);
    const played = await fetch(`${address}/script`, { method: "POST", body });
    if (!played.ok) throw new Error(await played.text());
  };
  await play(script);
  return { address, stop, play, seen: async () => (await fetch(`${address}/seen`)).json() };
}

// An upstream that keeps the body of the last request and answers with fixed text.
export async function recorder(t, contentType, answer) {
  const kept = {};
  const server = createServer(async (request, response) => {
    kept.body = Buffer.concat(await request.toArray()).toString();
    response.writeHead(200, { "content-type": contentType }).end(answer);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  kept.address = `http://127.0.0.1:${server.address().port}`;
  return kept;
}

// `pointsman serve` in front of upstreams by name: group `chat` prefers them in this order.
export async function gateway(t, upstreams, policy = {}) {
  const names = Object.keys(upstreams);
  const each = (entry) => Object.fromEntries(names.map((name) => [name, entry(name)]));
  return serve(t, {
    version: 1,
    providers: each((name) => provider("openai", upstreams[name].address)),
    deployments: each((name) => ({ provider: name, model: `model-${name}` })),
    groups: {
      chat: {
        strategy: "weighted",
        members: names.map((deployment, index) => ({ deployment, order: index + 1 })),
      },
    },
    policy,
  });
}

// `pointsman serve` with this config; the key of every upstream is in `UPSTREAM_KEY`.
export async function serve(t, document) {
  const folder = await mkdtemp(path.join(tmpdir(), "pointsman-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "config.json");
  await writeFile(file, JSON.stringify(document));
  const args = ["serve", "--config", file, "--listen", ANY_PORT, "--admin", ANY_PORT];
  return start(t, args, { UPSTREAM_KEY: KEY });
}

// What stands after the address of a provider of each protocol.
const BASES = { openai: "/v1", anthropic: "/v1", gemini: "/v1beta" };
const MORE = { azure: { api_version: "2025-04-01-preview" }, bedrock: { region: "us-east-1" } };

// An upstream as a provider in a config.
export function provider(protocol, address) {
  const base_url = `${address}${BASES[protocol] ?? ""}`;
  return { protocol, base_url, api_key: { env: "UPSTREAM_KEY" }, ...MORE[protocol] };
}

// The worker in `examples/edge`, with a `fetch` that reaches nobody.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

const WORKER = new URL("../../../examples/edge/worker.mjs", import.meta.url);

// The worker, which finds the package here as it would among its own dependencies.
async function load() {
  const text = await readFile(WORKER, "utf8");
  const resolved = text.replace('"pointsman"', JSON.stringify(import.meta.resolve("pointsman")));
  assert.notEqual(resolved, text);
  return (await import(`data:text/javascript,${encodeURIComponent(resolved)}`)).default;
}

const answer = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
};

test("the example worker fails over", async (t) => {
  const worker = await load();
  const asked = [];
  t.mock.method(globalThis, "fetch", async (url, { headers }) => {
    asked.push([new URL(url).host, new Headers(headers).get("authorization")]);
    const [body, status] = asked.length === 1 ? [{ error: {} }, 503] : [answer, 200];
    return Response.json(body, { status });
  });
  const body = JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hello?" }] });
  const request = new Request("https://edge.invalid/v1/chat/completions", { method: "POST", body });
  const env = { OPENAI_API_KEY: "sk-one", GROQ_API_KEY: "gsk-two" };
  const response = await worker.fetch(request, env);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-pointsman-deployment"), "spare");
  assert.equal((await response.json()).choices[0].message.content, "Hello.");
  assert.deepEqual(asked, [
    ["api.openai.com", "Bearer sk-one"],
    ["api.groq.com", "Bearer gsk-two"],
  ]);
});

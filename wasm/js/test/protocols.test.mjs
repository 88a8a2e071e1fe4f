// The gateway in front of upstreams of every protocol, for clients of every protocol.
import assert from "node:assert/strict";
import test from "node:test";

import { createGateway } from "pointsman";

import { mock } from "./support/mock.mjs";

const PROVIDERS = {
  openai: (root) => ({ base_url: `${root}/v1`, api_key: { env: "KEY" } }),
  anthropic: (root) => ({ base_url: `${root}/v1`, api_key: { env: "KEY" } }),
  gemini: (root) => ({ base_url: `${root}/v1beta`, api_key: { env: "KEY" } }),
  bedrock: (root) => ({
    base_url: root,
    region: "eu-central-1",
    credentials: { access_key_id: { env: "KEY" }, secret_access_key: { env: "KEY" } },
  }),
};

const said = [{ role: "user", content: "Hello?" }];
const CLIENTS = {
  "/v1/chat/completions": {
    body: { model: "g", messages: said },
    text: (answer) => answer.choices[0].message.content,
  },
  "/v1/responses": {
    body: { model: "g", input: "Hello?", store: false },
    text: (answer) => answer.output.find((item) => item.type === "message").content[0].text,
  },
  "/v1/messages": {
    body: { model: "g", max_tokens: 50, messages: said },
    text: (answer) => answer.content[0].text,
  },
  "/v1beta/models/g:generateContent": {
    body: { contents: [{ role: "user", parts: [{ text: "Hello?" }] }] },
    text: (answer) => answer.candidates[0].content.parts[0].text,
  },
};

async function before(t, protocol, params = {}) {
  const upstream = await mock(t, "east", [{ ok: { text: "Hello there.", output_tokens: 2 } }]);
  const root = upstream.baseUrl.replace("/v1", "");
  const config = {
    version: 1,
    providers: { p: { protocol, ...PROVIDERS[protocol](root) } },
    deployments: { east: { provider: "p", model: "m", params } },
    groups: { g: { members: ["east"] } },
  };
  const gateway = createGateway(config, { env: { KEY: "sk-test" } });
  const ask = (path, body) =>
    gateway.fetch(
      new Request(`http://gateway.invalid${path}`, { method: "POST", body: JSON.stringify(body) }),
    );
  return { upstream, ask };
}

for (const protocol of Object.keys(PROVIDERS)) {
  test(`clients of every protocol are answered by ${protocol}`, async (t) => {
    const { ask } = await before(t, protocol);
    for (const [path, { body, text }] of Object.entries(CLIENTS)) {
      const answer = await ask(path, body);
      assert.equal(answer.status, 200, path);
      assert.equal(text(await answer.json()), "Hello there.", path);
    }
  });

  test(`a stream of ${protocol} comes to a chat client to its end`, async (t) => {
    const { ask } = await before(t, protocol);
    const answer = await ask("/v1/chat/completions", { model: "g", messages: said, stream: true });
    const text = await answer.text();
    const deltas = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece);
    assert.equal(deltas.join(""), "Hello there.");
    assert.ok(text.endsWith("data: [DONE]\n\n"), text);
  });
}

const PLACES = {
  openai: (sent) => sent.max_tokens,
  anthropic: (sent) => sent.max_tokens,
  gemini: (sent) => sent.generationConfig.maxOutputTokens,
  bedrock: (sent) => sent.inferenceConfig.maxTokens,
};

for (const [protocol, place] of Object.entries(PLACES)) {
  test(`a parameter of the config stands where ${protocol} has it`, async (t) => {
    const { upstream, ask } = await before(t, protocol, { set: { max_tokens: 7 } });
    for (const [at, [path, { body }]] of Object.entries(CLIENTS).entries()) {
      assert.equal((await ask(path, body)).status, 200, path);
      assert.equal(place(await upstream.body(at)), 7, path);
    }
  });
}

test("tokens are reckoned for a provider that does not count", async (t) => {
  const { upstream, ask } = await before(t, "openai");
  const answer = await ask("/v1/messages/count_tokens", { model: "g", messages: said });
  const { input_tokens, estimated } = await answer.json();
  assert.ok(answer.status === 200 && input_tokens > 1 && estimated, `${answer.status}`);
  assert.equal((await upstream.seen()).requests, 0);
});

// A gateway in an edge worker: the same decisions as the native one, over the worker's own `fetch`.
// Secrets are bindings of the worker. `wasm/js/README.md` tells how each runtime loads the module.
import { createGateway } from "pointsman";

const gateway = createGateway({
  version: 1,
  providers: {
    openai: { protocol: "openai", api_key: { env: "OPENAI_API_KEY" } },
    groq: {
      protocol: "openai",
      base_url: "https://api.groq.com/openai/v1",
      api_key: { env: "GROQ_API_KEY" },
    },
  },
  deployments: {
    main: { provider: "openai", model: "gpt-4o-mini" },
    spare: { provider: "groq", model: "llama-3.3-70b-versatile" },
  },
  groups: {
    chat: {
      strategy: "weighted",
      members: [
        { deployment: "main", order: 1 },
        { deployment: "spare", order: 2 },
      ],
    },
  },
});

export default {
  fetch: (request, env) => gateway.fetch(request, { env }),
};

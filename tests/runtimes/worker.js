// The gateway as a worker of Cloudflare's; the binding `CONFIG` is its configuration as JSON.
import { createGateway } from "../../wasm/js/dist/entry.workerd.js";

let gateway;

export default {
  fetch(request, env) {
    gateway ??= createGateway(env.CONFIG);
    return gateway.fetch(request, { env });
  },
};

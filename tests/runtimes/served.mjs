// The gateway as Bun and Deno serve it: `served.mjs CONFIG`, with the configuration as JSON.
import { createGateway } from "pointsman";

const deno = globalThis.Deno;
const gateway = createGateway((deno ? deno.args : process.argv.slice(2))[0], { env: {} });
const answer = (request) => gateway.fetch(request);
const place = { hostname: "127.0.0.1", port: 0 };
if (deno) {
  deno.serve({ ...place, onListen: ({ port }) => console.log(port) }, answer);
} else {
  console.log(globalThis.Bun.serve({ ...place, fetch: answer }).port);
}

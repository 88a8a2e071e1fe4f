// Cloudflare Workers forbid compiling in a request and bring the module themselves.
import module from "./core_bg.wasm";
import { initSync } from "./core.js";

initSync({ module });

export * from "./api.js";

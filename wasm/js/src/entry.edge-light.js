// Vercel's edge runtime gives a module for this suffix.
import module from "./core_bg.wasm?module";
import { initSync } from "./core.js";

initSync({ module });

export * from "./api.js";

// Without the module: the caller brings it (a module, bytes, a URL or a Response) before anything else.
export { default as init, initSync } from "./core.js";
export * from "./api.js";

export * from "./api.js";

/** What the WASM module can be made from without waiting. */
export type SyncModule = WebAssembly.Module | BufferSource;

/** Makes the engine ready from a compiled module or its bytes. */
export function initSync(options: { module: SyncModule }): void;

/** Makes the engine ready from anything that leads to the module, compiled while it arrives. */
export function init(options: {
  module_or_path: SyncModule | RequestInfo | URL | Response | Promise<Response>;
}): Promise<void>;

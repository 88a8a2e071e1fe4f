// Everywhere else: the module travels as text, so that there is no file to find.
import text from "./core_b64.js";
import { initSync } from "./core.js";
import { decode } from "./base64.js";

initSync({ module: decode(text) });

export * from "./api.js";

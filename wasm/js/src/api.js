// The package's public interface.
export { version } from "./core.js";

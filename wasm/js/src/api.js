// The package's public interface.
export { Router, runScenario, version } from "./core.js";
export { createGateway } from "./gateway.js";

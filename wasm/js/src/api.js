// The package's public interface.
export { Router, replayJournal, runScenario, version } from "./core.js";
export { createGateway } from "./gateway.js";

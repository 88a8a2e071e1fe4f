/** The version of the engine. */
export function version(): string;

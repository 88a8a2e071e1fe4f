/** The version of the engine. */
export function version(): string;

/** Whole microseconds: since the Unix epoch for a point in time, plain for a length. `Infinity` is never. */
export type Micros = number;

/** Billionths of a US dollar; absent if something that was used has no price. */
export type NanoUsd = number;

/** A configuration: the value, or JSON text. */
export type Config = object | string;

/** What `{ env: NAME }` in a configuration looks into; only text counts. */
export type Environment = Record<string, unknown>;

// The gateway

/** What a gateway takes from its host; everything has a default. */
export interface Hosts {
  fetch?: typeof fetch;
  /** Where secrets are found; by default the first request's `env`, else `process.env`. */
  env?: Environment;
  /** The time, never going backwards. */
  now?: () => Micros;
  /** A random whole number below 2^53, once per request. */
  random?: () => number;
  /**
   * Told at the end of an answer what the protocols of provider and client could not hold: paths in the
   * request, and names such as `answer.citations`. The header `x-pointsman-lost` says the same, but leaves
   * before a stream has shown what it holds. `decision` is the number in `x-pointsman-decision`. What it
   * throws is written to the console and changes nothing.
   */
  lost?: (names: string[], decision: number) => void;
}

/** What a host knows of one request. */
export interface Context {
  env?: Environment;
}

export interface Gateway {
  /**
   * Answers one request to any path that the native gateway serves. The first one builds the engine and
   * rejects if the configuration has faults, with an error whose `faults` lists them all.
   */
  fetch(request: Request, context?: Context): Promise<Response>;
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** What is valid in the configuration and still has no effect, or hardly the one meant; known after the first request. */
  readonly notes: string[];
}

/** A gateway over `fetch`. Pure: nothing is read, built or drawn before the first request. */
export function createGateway(config: Config, hosts?: Hosts): Gateway;

// The router, for hosts that do their own sending

export interface RouteRequest {
  model: string;
  stream?: boolean;
  inputTokens?: number;
  toolsTokens?: number;
  maxOutputTokens?: number;
  needs?: { tools?: boolean; vision?: boolean; audio?: boolean; jsonSchema?: boolean; webSearch?: boolean };
  tags?: string[];
  region?: string;
  /** What `affinity` keeps together. */
  session?: string;
  user?: string;
  priority?: "interactive" | "batch";
  deadline?: Micros;
  /** Further attempts in one group after its first, whatever the configuration says. */
  retries?: number;
  /** The client's idempotency key: hashes of caller, path and key, and of the body, in four words of 32 bits. */
  idempotency?: { scope: [number, number, number, number]; body: [number, number, number, number] };
  /** Record every decision of this call. */
  trace?: boolean;
}

export type FailureKind =
  | "connect" | "server" | "overloaded" | "first_token_timeout" | "total_timeout" | "rate_limited"
  | "quota_exhausted" | "auth" | "not_found" | "untranslatable" | "bad_request" | "context_window"
  | "content_policy" | "local" | "broken_stream" | "cancelled";

export interface Usage {
  input?: number;
  cachedInput?: number;
  cacheWrite?: number;
  output?: number;
  reasoning?: number;
  /** Searches of the web that the provider made and bills. */
  searches?: number;
  estimated?: boolean;
}

export interface Quota {
  requestsLeft?: number;
  tokensLeft?: number;
  resetsIn?: Micros;
}

export interface Failure {
  kind: FailureKind;
  retryAfter?: Micros;
  status?: number;
  quota?: Quota;
}

/** What the host reports about one call. */
export type Event =
  | { type: "due" }
  | { type: "woken" }
  | { type: "cancelled"; usage?: Usage }
  | { type: "ready"; attempt: number; firstContentAt: Micros; usage?: Usage; quota?: Quota }
  | { type: "failed"; attempt: number; failure: Failure; usage?: Usage }
  | { type: "completed"; attempt: number; usage?: Usage; endedAt: Micros; stalledByClient?: Micros }
  | { type: "closed"; attempt: number; usage?: Usage }
  | { type: "granted"; reservation: number; candidate: string }
  | { type: "denied"; by: string; until: Micros }
  | { type: "store_down" }
  | { type: "ranked"; candidates: string[] }
  | { type: "declined" };

/** An attempt's clocks, from the moment of sending. */
export interface Clocks {
  connect: Micros;
  firstContent: Micros;
  idle: Micros;
  total: Micros;
}

/** What the host is to do next for one call. */
export type Action =
  | { type: "send"; attempt: number; deployment: string; group: string; clocks: Clocks; reservation: number }
  | { type: "relay"; attempt: number }
  | { type: "continue" }
  | { type: "wait"; until: Micros; why: "backoff" | "retry_after" | "capacity" }
  | { type: "rank"; candidates: string[]; until: Micros }
  | {
      type: "claim";
      reservation: number;
      candidates: string[];
      amounts: { requests: number; input: number; output: number };
      lease: Micros;
    }
  | { type: "finish"; outcome: Outcome; status: number };

/** A candidate and why it could not serve. */
export interface Candidate {
  deployment: string;
  reason: string;
  until?: Micros;
  capability?: string;
}

/** How a call ended. */
export type Outcome =
  | { type: "served"; by: string; usage: Usage; attempts: number; cost?: NanoUsd }
  | { type: "broken"; by: string; failure: Failure; usage: Usage; cost?: NanoUsd }
  | {
      type: "refused";
      reason: string;
      filter?: string;
      /** The caller's limit that refused it. */
      denied?: { owner: string; limit: string; batch_reserve: boolean; in_flight: boolean };
      retryAt?: Micros;
      candidates: Candidate[];
    }
  | {
      type: "exhausted";
      last: Failure;
      by: string;
      why: "attempts" | "deadline" | "retry_budget" | "over_budget" | "nobody_left" | "fatal";
      attempts: number;
      retryAt?: Micros;
      candidates: Candidate[];
      cost?: NanoUsd;
    }
  | { type: "repeated"; of: number; how: "attach" | "replay" | "conflict" }
  | { type: "cancelled"; usage: Usage; cost?: NanoUsd };

/** The record of how a call was decided, as the command line prints it in JSON. */
export interface Trace {
  requested: string;
  entries: object[];
}

/** One client request inside a router. */
export interface Call {
  readonly id: number;
  readonly attempts: number;
  readonly trace: Trace | undefined;
  /** Gives its memory back at once instead of at some collection of garbage. */
  free(): void;
}

/** The change of one deployment's gates, for routers that share state. */
export interface Change {
  deployment: string;
  epoch: number;
  open_for: Micros | null;
  throttled_for: Micros;
}

/** The decisions alone. It reads no clock and draws no chance: both are arguments. */
export class Router {
  constructor(config: Config, environment: Environment, now: Micros);
  /** A router with the state of a snapshot. */
  static restore(config: Config, environment: Environment, snapshot: string, now: Micros): Router;
  /** One client request starts; `seed` is a whole number below 2^53. */
  begin(request: RouteRequest, seed: number, now: Micros): [Call, Action];
  /** Something happened to a call. Throws on an event that does not fit; nothing has changed then. */
  resume(call: Call, event: Event, now: Micros): Action;
  /** What would become of a request, and why. Reserves nothing. */
  explain(request: RouteRequest, seed: number, now: Micros): Trace;
  snapshot(): string;
  /** The ids of waiting calls that may go on; send them `woken`. */
  wakes(): Float64Array;
  drainChanges(): Change[];
  readonly notes: string[];
  free(): void;
}

// Scenarios

/**
 * Executes a journal again and returns its summary as JSON text, or, under the key `differs`, the first
 * record that came out otherwise. Throws if it cannot be read.
 */
export function replayJournal(journal: Uint8Array): string;

/**
 * Plays a scenario, given as JSON text, and returns its report as JSON text: the same bytes as on any
 * other host. `files` holds the documents it names by path. Throws if the scenario itself has faults.
 */
export function runScenario(document: string, traces: boolean, files: Record<string, string>): string;

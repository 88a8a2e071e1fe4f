// A gateway for any host with `fetch`: it moves bytes and keeps timers. What to send where, when to
// give up and what the client gets is decided in the WASM module, one step at a time.
import { Gateway } from "./core.js";
import { Conversation } from "./conversation.js";
import { clock, seed } from "./chance.js";

export function createGateway(config, hosts = {}) {
  // Nothing is built here: in a worker's global scope there is neither time nor chance.
  let engine;
  return {
    async fetch(input, context = {}) {
      const request = input instanceof Request ? input : new Request(input, context);
      engine ??= new Engine(config, hosts, context.env);
      return engine.serve(request);
    },
    get notes() {
      return engine?.notes ?? [];
    },
  };
}

class Engine {
  #core;
  #hosts;
  #waiting = new Map();

  constructor(config, hosts, env) {
    const { fetch = globalThis.fetch, now = clock(), random = seed, lost } = hosts;
    this.#hosts = { fetch, now, random, lost };
    const environment = env ?? hosts.env ?? globalThis.process?.env ?? {};
    this.#core = new Gateway(config, environment, now());
  }

  get notes() {
    return this.#core.notes;
  }

  async serve(request) {
    const { now, random } = this.#hosts;
    const body = await read(request, this.#core.maxBody);
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const exchange = this.#core.open(method, pathname + search, [...headers], body, random(), now());
    return new Conversation(exchange, this.#hosts, this.#calls).run(request.signal);
  }

  // The calls that wait for something to become free.
  #calls = {
    wait: (call, wake) => this.#waiting.set(call, wake),
    done: (call) => this.#waiting.delete(call),
    wake: () => {
      for (const call of this.#core.wakes()) this.#waiting.get(call)?.();
    },
  };
}

// The body, or as much of it as shows that it is too large.
async function read(request, limit) {
  if (!request.body) return new Uint8Array();
  const pieces = [];
  let length = 0;
  for (const reader = request.body.getReader(); length <= limit; ) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    length += value.length;
    if (length > limit) await reader.cancel();
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    body.set(piece, at);
    at += piece.length;
  }
  return body;
}

// One client request: carries out the steps of one exchange.

// The longest time that `setTimeout` keeps.
const LONGEST = 0x7fffffff;

// How long, in microseconds, a client may take nothing of what is sent to it: as long as the gateway
// waits by default.
const PATIENCE = 60_000_000;

const DUE = Symbol("due");
const LEFT = Symbol("left");

export class Conversation {
  #exchange;
  #hosts;
  #calls;
  // What is being waited for: resolves to a function that reports it.
  #pending;
  #reader;
  #abort;
  #writer;
  #stalled = 0;
  #respond;
  #left = false;
  // Ends the wait that is on.
  #settle;

  constructor(exchange, hosts, calls) {
    this.#exchange = exchange;
    this.#hosts = hosts;
    this.#calls = calls;
  }

  // The client is gone.
  #leave = () => {
    this.#left = true;
    this.#settle?.(LEFT);
  };

  // The response, as soon as there is one; the rest of its body follows by itself.
  run(signal) {
    if (signal?.aborted) this.#leave();
    signal?.addEventListener("abort", this.#leave, { once: true });
    return new Promise((resolve, reject) => {
      this.#respond = resolve;
      this.#steps()
        .catch((error) => {
          this.#writer?.abort(error).catch(() => {});
          reject(error);
          // What the call holds is given back. If that fails too, the first fault is the one to tell.
          this.#exchange.cancelled(this.#hosts.now());
          this.#calls.wake();
        })
        .catch(() => {})
        .finally(() => {
          signal?.removeEventListener("abort", this.#leave);
          this.#stop();
          this.#exchange.free();
        });
    });
  }

  async #steps() {
    let step = this.#exchange.start();
    for (;;) {
      await this.#answer(step);
      if (step.then.type === "end") break;
      step = await this.#next(step.then);
      this.#calls.wake();
    }
    this.#stop();
    // A client that left without an answer has nobody to read this one.
    this.#respond(new Response(null, { status: 499 }));
    // Nobody waits for a client to take the last of it; what has been cut does not look whole.
    const gone = () => new DOMException("the client left", "AbortError");
    const ended = this.#left ? this.#writer?.abort(gone()) : this.#writer?.close();
    ended?.catch(() => {});
    const { call, lost } = this.#exchange;
    if (lost.length > 0) this.#tell(lost, call);
  }

  // The hook's own faults are not the call's.
  #tell(lost, call) {
    try {
      this.#hosts.lost?.(lost, call);
    } catch (error) {
      console.error("pointsman: the hook `lost` threw", error);
    }
  }

  // Passes on what the step holds for the client.
  async #answer({ reply, chunk, then }) {
    if (reply) {
      const whole = then.type === "end" || then.type === "deliver";
      const body = whole ? chunk : this.#open();
      this.#respond(new Response(body, { status: reply.status, headers: reply.headers }));
      if (whole) return;
    }
    if (chunk && this.#writer && !this.#left) {
      const before = this.#hosts.now();
      const written = this.#writer.write(chunk).catch(this.#leave);
      if ((await this.#first(written, PATIENCE)) === DUE) this.#leave();
      this.#stalled += Math.max(0, this.#hosts.now() - before);
    }
  }

  #open() {
    const { readable, writable } = new TransformStream();
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(this.#leave);
    return readable;
  }

  #next(then) {
    switch (then.type) {
      case "send":
        this.#send(then);
        return this.#hear(then.within);
      case "read":
        this.#pending ??= this.#read();
        return this.#hear(then.within);
      case "wait":
        this.#stop();
        return this.#wait(then.within);
      case "deliver":
        return this.#exchange.delivered(this.#stalled, this.#hosts.now());
      default:
        throw new Error(`unknown step \`${then.type}\``);
    }
  }

  #send({ method, url, headers, body }) {
    this.#stop();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const { fetch } = this.#hosts;
    // Whatever a host's `fetch` does wrong, it has not reached the upstream.
    const sent = async () => fetch(url, { method, headers, body, signal, redirect: "manual" });
    const head = ({ status, headers, body }) => {
      const pairs = [...headers];
      this.#reader = body?.getReader();
      return (now) => this.#exchange.head(status, pairs, now);
    };
    this.#pending = sent().then(head).catch(() => this.#broke);
  }

  #read() {
    const piece = ({ done, value }) =>
      done
        ? (now) => this.#exchange.ended(now)
        : (now) => this.#exchange.chunk(value, now);
    const end = Promise.resolve({ done: true });
    return (this.#reader?.read() ?? end).then(piece, () => this.#broke);
  }

  #broke = (now) => this.#exchange.broke(now);

  async #hear(within) {
    const heard = await this.#first(this.#pending, within);
    const now = this.#hosts.now();
    if (heard === DUE) return this.#exchange.due(now);
    if (heard === LEFT) return this.#exchange.cancelled(now);
    this.#pending = undefined;
    return heard(now);
  }

  async #wait(within) {
    const { call } = this.#exchange;
    const woken = new Promise((resolve) => this.#calls.wait(call, resolve));
    const heard = await this.#first(woken, within);
    this.#calls.done(call);
    const now = this.#hosts.now();
    if (heard === DUE) return this.#exchange.due(now);
    if (heard === LEFT) return this.#exchange.cancelled(now);
    return this.#exchange.woken(now);
  }

  // Whatever comes first: the promise, the end of `within` microseconds, or the client's leaving.
  // One promise a wait, so that none lives on and gathers what comes.
  async #first(promise, within) {
    if (this.#left) return LEFT;
    let timer;
    // Rounded up: a timer must not be early.
    const milliseconds = Math.min(Math.ceil(within / 1000), LONGEST);
    try {
      return await new Promise((resolve, reject) => {
        this.#settle = resolve;
        timer = setTimeout(resolve, milliseconds, DUE);
        promise.then(resolve, reject);
      });
    } finally {
      clearTimeout(timer);
      this.#settle = undefined;
    }
  }

  // Ends the upstream, read to its end or not.
  #stop() {
    this.#abort?.abort();
    this.#pending?.catch(() => {});
    this.#pending = this.#reader = this.#abort = undefined;
  }
}

// The two things the engine never has of its own.

// Time in whole microseconds: the wall's at the start, and monotonic from there.
export function clock() {
  const offset = Date.now() - performance.now();
  return () => Math.floor((offset + performance.now()) * 1000);
}

// A whole number below 2^53.
export function seed() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 0x100000000 + low;
}

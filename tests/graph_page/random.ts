/** A small seeded generator (mulberry32): a failing round can be run again by its seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The bytes in pieces of 1 to `most` bytes. */
export function pieces(bytes: Uint8Array, random: () => number, most: number): Uint8Array[] {
  const cut: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const to = at + 1 + Math.floor(random() * most);
    cut.push(bytes.subarray(at, to));
    at = to;
  }
  return cut;
}

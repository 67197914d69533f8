const subsets = new Map<string, readonly number[][]>();

/** Every subset of few elements; of more, those that begin or end anywhere, and those without one element, or with only one. */
export function subsetsOf(all: readonly number[], mostFree = 6): readonly number[][] {
  const key = `${mostFree} ${all}`;
  const known = subsets.get(key);
  if (known) return known;
  const around = (one: number, index: number) => [
    ...[all.slice(0, index), all.slice(index)],
    ...[[one], all.filter((other) => other !== one)],
  ];
  const made =
    all.length <= mostFree
      ? Array.from({ length: 2 ** all.length }, (_, bits) => all.filter((_, index) => bits & (1 << index)))
      : [all.slice(), ...all.flatMap(around)];
  const distinct = [...new Map(made.map((subset) => [subset.join(), subset])).values()];
  subsets.set(key, distinct);
  return distinct;
}

/** A hash of 53 bits. */
export function hashOf(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2_654_435_761);
    b = Math.imul(b ^ code, 1_597_334_677);
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  return `${(b >>> 0).toString(36)}.${(a >>> 0).toString(36)}`;
}

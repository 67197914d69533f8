/** A stretch of a text or of bytes, or two ropes one after the other. */
export type Rope =
  | {
      readonly data: string | Uint8Array;
      readonly start: number;
      readonly length: number;
      readonly leaves: 1;
    }
  | { readonly left: Rope; readonly right: Rope; readonly length: number; readonly leaves: number };

export function ropeOf(data: string | Uint8Array): Rope {
  return { data, start: 0, length: data.length, leaves: 1 };
}

/**
 * Joins two ropes, without copying their content. The tree is a random one, so that its expected depth is a logarithm of its leaves,
 * whatever is joined and cut.
 */
export function concat(left: Rope | undefined, right: Rope | undefined): Rope | undefined {
  if (!left?.length) return right;
  if (!right?.length) return left;
  // Each place between two leaves becomes the root with the same probability.
  const place = Math.random() * (left.leaves + right.leaves - 1);
  if (place < left.leaves - 1 && "left" in left) return node(left.left, concat(left.right, right));
  if (place < left.leaves + right.leaves - 2 && "left" in right)
    return node(concat(left, right.left), right.right);
  return node(left, right);
}

function node(left: Rope | undefined, right: Rope | undefined): Rope | undefined {
  if (!left || !right) return left ?? right;
  return { left, right, length: left.length + right.length, leaves: left.leaves + right.leaves };
}

/** A stretch of a rope; undefined for an empty one. */
export function stretch(rope: Rope, start: number, end: number): Rope | undefined {
  if (start >= end) return undefined;
  if (start <= 0 && end >= rope.length) return rope;
  if ("data" in rope) {
    const from = Math.max(start, 0);
    return { ...rope, start: rope.start + from, length: Math.min(end, rope.length) - from };
  }
  const { left, right } = rope;
  return concat(
    stretch(left, start, Math.min(end, left.length)),
    stretch(right, Math.max(start - left.length, 0), end - left.length),
  );
}

/** The content of a rope, in its order. */
export function* piecesOf(rope: Rope | undefined): Generator<string | Uint8Array> {
  const stack = rope ? [rope] : [];
  for (let next = stack.pop(); next; next = stack.pop()) {
    if ("left" in next) stack.push(next.right, next.left);
    else yield next.data.slice(next.start, next.start + next.length);
  }
}

/** Shorter runs of base64 stay text: storing their lengths would cost as much as packing saves. */
const SHORTEST_RUN = 64;
const LENGTH_BYTES = 4;

const isBase64 = new Uint8Array(256);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
  isBase64[character.charCodeAt(0)] = 1;
}

/**
 * Converts text to bytes. Each long run of base64 is replaced by its decoded bytes: three for every four characters.
 * Bytes in a message, and text that an inner codec compressed, then grow by 4/3 once instead of twice when the whole is
 * encoded as base64.
 *
 * A run whose length is a multiple of four decodes and encodes without loss. The layout is: the length of a text and the
 * text, the length of a run's bytes and these, and so on; lengths are 32 bits.
 *
 * @param text well-formed Unicode.
 */
export function packText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  const put = (piece: Buffer) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(piece.length);
    pieces.push(length, piece);
  };
  let start = 0;
  for (let at = 0; at < bytes.length; ) {
    let end = at;
    while (end < bytes.length && isBase64[bytes[end] ?? 0] === 1) end++;
    if (end - at < SHORTEST_RUN) {
      at = end + 1;
      continue;
    }
    end -= (end - at) % 4;
    put(bytes.subarray(start, at));
    put(Buffer.from(bytes.toString("latin1", at, end), "base64"));
    start = at = end;
  }
  put(bytes.subarray(start));
  return Buffer.concat(pieces);
}

/** The text that {@link packText} was given. @throws RangeError for bytes that end too soon. */
export function unpackText(bytes: Buffer): string {
  let text = "";
  let at = 0;
  const take = () => {
    const from = at + LENGTH_BYTES;
    at = from + bytes.readUInt32LE(at);
    if (at > bytes.length) throw new RangeError("packed text ends too soon");
    return bytes.subarray(from, at);
  };
  while (at < bytes.length) {
    text += take().toString();
    if (at < bytes.length) text += take().toString("base64");
  }
  return text;
}

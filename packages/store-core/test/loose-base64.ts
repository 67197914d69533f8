/**
 * Other texts that Node.js decodes to the same bytes.
 *
 * @param start where the base64 begins.
 */
export function looseBase64(text: string, start: number): string[] {
  const base64 = text.slice(start);
  const unpadded = base64.replace(/=+$/, "");
  const changed = [
    ...[" ", "=", "\n", "!", "====", "= AAAA"].map((end) => base64 + end),
    ...[" ", "\0", "*"].map((character) => character + base64),
    `${base64.slice(0, 8)} ${base64.slice(8)}`,
    unpadded.replaceAll("+", "-").replaceAll("/", "_"),
    unpadded,
    // Bits that belong to no byte.
    unpadded.slice(0, -1) +
      String.fromCharCode(unpadded.charCodeAt(unpadded.length - 1) + 1) +
      base64.slice(unpadded.length),
  ];
  const bytes = Buffer.from(base64, "base64");
  return changed
    .filter((one) => one !== base64 && Buffer.from(one, "base64").equals(bytes))
    .map((one) => text.slice(0, start) + one);
}

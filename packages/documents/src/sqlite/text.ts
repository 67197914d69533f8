/**
 * A text without a NUL, because some clients end a text there: U+0000 and U+0001 are written as U+0001 and U+0002 or U+0003. Texts keep
 * their order by bytes, and their prefixes.
 */
export function toStored(text: string): string {
  return text.replaceAll("\x01", "\x01\x03").replaceAll("\0", "\x01\x02");
}

/** The text of a column. A column that another program emptied is an empty text. */
export function fromStored(stored: unknown): string {
  const text = typeof stored === "string" ? stored : "";
  return text.replaceAll("\x01\x02", "\0").replaceAll("\x01\x03", "\x01");
}

/** A condition on a column of names, for the values of {@link boundsOf}. No byte of a text in UTF-8 is 0xff. */
export const namesBetween = (column: string) =>
  `${column} >= ? AND ${column} < ? || CAST(x'ff' AS TEXT) AND ${column} > ?`;

/** Names that begin with a prefix, after another name; `""` for all. */
export const boundsOf = (prefix: string, after: string): string[] => [
  toStored(prefix),
  toStored(prefix),
  toStored(after),
];

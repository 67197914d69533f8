/** A replacement inside a declaration of the driver's source. */
export interface SourceChange {
  /** The file, in `packages/store-core/src/record-log/`. */
  readonly file: string;
  /** The name of the changed function, method or constant. */
  readonly inside: string;
  /** A text that the declaration contains exactly once, and its replacement. */
  readonly from: string;
  readonly to: string;
}

/** @throws Error if the declaration does not exist, or does not contain `from` exactly once. */
export function mutate(source: string, { file, inside, from, to }: SourceChange): string {
  const [start, end] = declarationOf(source, inside, file);
  const declaration = source.slice(start, end);
  const count = declaration.split(from).length - 1;
  if (count !== 1) throw new Error(`${file}: ${inside} has ${count} times, not once: ${from}`);
  return source.slice(0, start) + declaration.replace(from, () => to) + source.slice(end);
}

/**
 * The start and the end of a declaration. The formatter puts its closing brace on a separate line, indented like its first line.
 */
function declarationOf(source: string, name: string, file: string): [start: number, end: number] {
  const matches = [
    ...source.matchAll(new RegExp(`^()(?:export )?const ${name} = .*;$`, "gm")),
    ...source.matchAll(
      new RegExp(
        `^()(?:export )?(?:async )?function\\*? ${name}(?:<.*>)?\\(|^( +)(?:async )?\\*?${name}(?:<.*>)?\\((?:.*[{(])?$`,
        "gm",
      ),
    ),
  ];
  const [match] = matches;
  if (!match || matches.length > 1)
    throw new Error(`${file} has ${matches.length} declarations of ${name}, not one`);
  if (match[0].endsWith(";")) return [match.index, match.index + match[0].length];
  const end = source.indexOf(`\n${match[2] ?? ""}}\n`, match.index);
  if (end < 0) throw new Error(`${file}: the end of ${name} was not found`);
  return [match.index, end];
}

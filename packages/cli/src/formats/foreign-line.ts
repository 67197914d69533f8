/** The formats of a file to import. */
export type FileFormat = "jsonl" | "openai";

/** The problem of a file's first line if it is of another format, so that its other lines are not worth a problem each. */
export function foreignProblem(
  line: Readonly<Record<string, unknown>>,
  format: FileFormat,
): string | undefined {
  if (line.type === "scrollback.chat") return "this is the export of a chat; import it with mine.import";
  if (format === "jsonl" && line.type === undefined && Array.isArray(line.messages))
    return "this looks like OpenAI's chat format; add --format openai";
  if (format === "openai" && line.type === "thread" && line.messages === undefined)
    return "this looks like the format jsonl; omit --format openai";
  return undefined;
}

import { isObject } from "../arguments.ts";

/** The fields of a message or part. */
type Fields = Readonly<Record<string, unknown>>;

/** The content of a message as a list of blocks, for the traits of other SDKs. A text has no blocks. */
export function blocksOf(content: unknown): readonly Fields[] {
  return Array.isArray(content) ? content : [];
}

/** The problem of content that should be a text or an array of blocks with a type. */
export function contentProblem(content: unknown): string | undefined {
  if (typeof content === "string") return undefined;
  if (!Array.isArray(content)) return "content must be a string or an array of blocks";
  for (let index = 0; index < content.length; index++) {
    const block: unknown = content[index];
    if (isObject(block) || typeof (block as Fields).type !== "string")
      return `content[${index}] must be an object with a type`;
  }
  return undefined;
}

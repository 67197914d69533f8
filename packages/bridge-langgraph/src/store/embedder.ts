import type { IndexConfig } from "@langchain/langgraph-checkpoint";
import { StoreError } from "@scrollback/store-core";
import { hasMethods, invalid } from "@scrollback/store-core/driver";
import { isCount } from "@scrollback/store-core/internal";
import { checkObject } from "../checks.ts";
import { isPath, textsAt } from "./text-at-path.ts";

/** The fields of one item: paths instead of those of the store, or none. */
export type ItemFields = false | readonly string[];

/** Makes the vectors of items and of queries, by the user's embeddings. */
export class Embedder {
  readonly dims: number;
  readonly #embeddings: IndexConfig["embeddings"];
  readonly #fields: readonly string[];

  /** @throws StoreError `INVALID_ARGUMENT`. */
  constructor(config: IndexConfig) {
    checkObject("ScrollbackStore: index", config, "pass { dims, embeddings, fields }");
    const { dims, embeddings, fields = ["$"] } = config;
    if (isCount(dims) || dims === 0)
      invalid("ScrollbackStore: index.dims must be a positive integer; pass that of the embeddings");
    const problem = hasMethods("embedDocuments", "embedQuery")(embeddings);
    if (problem) invalid(`ScrollbackStore: index.embeddings ${problem}; pass an Embeddings of LangChain`);
    checkFields("ScrollbackStore: index.fields", fields);
    this.dims = dims;
    this.#embeddings = embeddings;
    this.#fields = fields;
  }

  /** The vectors of an item: one for each different text at its fields. One request, or none if there is no text. */
  async ofItem(value: Record<string, unknown>, fields: ItemFields = this.#fields): Promise<number[][]> {
    const texts = [...new Set((fields || []).flatMap((path) => ownTexts(value, path)))];
    if (texts.length === 0) return [];
    const vectors = await this.#embeddings.embedDocuments(texts);
    if (vectors.length !== texts.length)
      invalid(`put: index.embeddings returned ${vectors.length} vectors for ${texts.length} texts`);
    return vectors.map((vector) => this.#checked("put", vector));
  }

  async ofQuery(text: string): Promise<number[]> {
    return this.#checked("search", await this.#embeddings.embedQuery(text));
  }

  /** A vector as the stores take it: embeddings may return any array of numbers, such as a Float32Array. */
  #checked(method: string, given: ArrayLike<number> | undefined): number[] {
    const vector = Array.from(given ?? []);
    if (vector.length !== this.dims)
      invalid(`${method}: index.embeddings returned ${vector.length} dimensions; index.dims is ${this.dims}`);
    const length = Math.hypot(...vector);
    if (!vector.every(Number.isFinite) || !Number.isFinite(length) || length === 0)
      invalid(`${method}: index.embeddings returned a vector without a direction, all 0 or not finite`);
    return vector;
  }
}

/** @throws StoreError `INVALID_ARGUMENT` for a value that is not a list of paths. */
export function checkFields(what: string, fields: unknown): void {
  if (!Array.isArray(fields) || !fields.every(isPath))
    invalid(`${what} must be an array of paths; pass such as "$", "title" or "chapters[*].text"`);
}

function ownTexts(value: Record<string, unknown>, path: string): string[] {
  try {
    return textsAt(value, path).filter((text) => text !== "");
  } catch (cause) {
    // JSON has no text for some values that stores keep, such as a BigInt.
    const message = `put: value has no text at "${path}" (${String(cause)}); name other fields to index`;
    throw new StoreError("INVALID_ARGUMENT", message, { cause });
  }
}

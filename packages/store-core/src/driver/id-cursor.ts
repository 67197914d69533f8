import { invalid } from "../arguments.ts";
import { decodeText, encodeText } from "../codec/base64.ts";

const START = "after.";

/** Cursors of listings in an order of ids, or of names. */
export const IdCursor = /* @__PURE__ */ Object.freeze({
  /** The cursor behind a page: its last id. */
  format(id: string): string {
    return START + encodeText(id);
  },

  /**
   * The id after which a page begins, of a cursor of `format`; undefined for the first page.
   *
   * @param caller the verb, for the error.
   * @throws StoreError `INVALID_ARGUMENT` for another cursor, and for one of another prefix.
   */
  parse(
    caller: "listThreads" | "listIndexes",
    { prefix, cursor }: { readonly prefix: string; readonly cursor: string | undefined },
  ): string | undefined {
    if (cursor === undefined) return undefined;
    const text = cursor.startsWith(START) ? cursor.slice(START.length) : "";
    // No id is empty.
    const id = decodeText(text) || undefined;
    if (!id?.startsWith(prefix))
      invalid(`${caller}: cursor must be one that ${caller}() gave for the same prefix`);
    return id;
  },
});

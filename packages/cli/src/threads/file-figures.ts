import type { iterateEntries } from "@scrollback/collections";
import { contentIn, useIn } from "@scrollback/collections/internal";

type IndexEntry = ReturnType<typeof iterateEntries> extends AsyncIterable<infer Found> ? Found : never;

/** Counts the files that messages of threads with a prefix have, each once, from the entries of all indexes. */
export class FileFigures {
  readonly #prefix: string;
  readonly #contents = new Map<string, { readonly size: number; readonly elsewhere: boolean }>();
  readonly #used = new Set<string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add({ index, entry }: IndexEntry): void {
    const content = contentIn(index, entry);
    if (content) this.#contents.set(nameOf(content), content);
    const use = useIn(index, entry);
    if (use?.threadId.startsWith(this.#prefix)) this.#used.add(nameOf(use));
  }

  /** `elsewhere`: those that are not in the backend. */
  sums(): { readonly files: number; readonly bytes: number; readonly elsewhere: number } {
    const found = [...this.#used].flatMap((name) => this.#contents.get(name) ?? []);
    return {
      files: found.length,
      bytes: found.reduce((sum, { size }) => sum + size, 0),
      elsewhere: found.filter(({ elsewhere }) => elsewhere).length,
    };
  }
}

/** Names of owners contain no space. */
function nameOf({ scope, digest }: { readonly scope: string; readonly digest: string }): string {
  return `${digest} ${scope}`;
}

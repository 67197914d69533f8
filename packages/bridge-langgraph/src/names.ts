import { nameOf } from "@scrollback/collections";

/** The threads and the index of a checkpointer, see docs/how-to/bridge-langgraph.md. Names are escaped, so they never collide. */
export class ThreadNames {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = nameOf(prefix);
  }

  /** The checkpoints of one namespace, in the order in which they were written. */
  log(threadId: string, namespace: string): string {
    return `${this.#prefix}:log:${nameOf(threadId)}:${nameOf(namespace)}`;
  }

  /** The attachments of the checkpoint `key`: its pending writes, and the large values of its child checkpoints. */
  attachments(threadId: string, namespace: string, key: string): string {
    return `${this.#prefix}:attachments:${nameOf(threadId)}:${nameOf(namespace)}:${nameOf(key)}`;
  }

  /** The namespaces of a LangGraph thread. */
  thread(threadId: string): string {
    return `${this.#prefix}:thread:${nameOf(threadId)}`;
  }

  /** The prefixes of the names of a thread's logs and attachments. */
  prefixes(threadId: string): readonly string[] {
    return ["log", "attachments"].map((kind) => `${this.#prefix}:${kind}:${nameOf(threadId)}:`);
  }

  /** The index of all LangGraph threads. */
  threads(): string {
    return `${this.#prefix}:threads`;
  }
}

import { nameOf } from "@scrollback/collections";

/** The threads of a checkpointer, see docs/how-to/bridge-langgraph.md. Names are escaped, so they never collide. */
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

  /** The directory of all LangGraph threads. */
  threads(): string {
    return `${this.#prefix}:threads`;
  }

  leaf(id: string): string {
    return `${this.#prefix}:leaf:${id}`;
  }
}

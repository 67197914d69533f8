import { nameOf } from "@scrollback/collections";

/** The threads and the index of a checkpointer, see docs/how-to/bridge-langgraph.md. Names are escaped, so they never collide. */
export class ThreadNames {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = nameOf(prefix);
  }

  /** The checkpoints of one namespace and their pending writes, in the order in which they were written. */
  log(threadId: string, namespace: string): string {
    return `${this.logs(threadId)}${nameOf(namespace)}`;
  }

  /** The namespaces of a LangGraph thread. */
  thread(threadId: string): string {
    return `${this.#prefix}:thread:${nameOf(threadId)}`;
  }

  /** The prefix of the names of a thread's logs. */
  logs(threadId: string): string {
    return `${this.#prefix}:log:${nameOf(threadId)}:`;
  }

  /** The index of all LangGraph threads. */
  threads(): string {
    return `${this.#prefix}:threads`;
  }
}

import { checkMessages } from "./chat-message-traits.ts";

/** A part of a message that a conversion loses. */
export interface Lost {
  /** The index of the message in the input. */
  readonly index: number;
  /** The path within that message, such as `content[0].providerOptions`. Empty for the whole message. */
  readonly path: string;
  /** `dropped`: absent from the result. `changed`: in the result, but in another form or at another position. */
  readonly effect: "dropped" | "changed";
}

/** Messages in another framework's form, and the parts that have no counterpart there. */
export interface Conversion<M> {
  readonly messages: M[];
  readonly lost: Lost[];
}

/** Collects the losses of one message. For conversions between message types. */
export class MessageLosses {
  #lost: Lost[] = [];
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  /** Returns the losses; the whole message if it was not converted at all. */
  found(isMade: boolean): readonly Lost[] {
    return isMade ? this.#lost : [{ index: this.index, path: "", effect: "dropped" }];
  }

  /** Records the value at a path as dropped, in place of the losses recorded inside it. */
  dropped(path: string): void {
    this.#lost = this.#lost.filter(({ path: inner }) => !isInside(inner, path));
    this.#lost.push({ index: this.index, path, effect: "dropped" });
  }

  changed(path: string): void {
    this.#lost.push({ index: this.index, path, effect: "changed" });
  }

  /** Converts each value of the array at a path. Records each value for which `convert` returns undefined as dropped. */
  converted<T, P>(
    values: readonly T[],
    path: string,
    convert: (value: T, path: string) => P | undefined,
  ): P[] {
    const made: P[] = [];
    for (const [index, value] of values.entries()) {
      const inner = `${path}[${index}]`;
      const one = convert(value, inner);
      if (one === undefined) this.dropped(inner);
      else made.push(one);
    }
    return made;
  }

  /** Records each of these fields, which a conversion does not read, as dropped. An undefined field counts as absent. */
  unread(path: string, fields: object): void {
    for (const [key, value] of Object.entries(fields)) if (value !== undefined) this.dropped(join(path, key));
  }
}

/**
 * Checks all messages, then converts them one after the other.
 *
 * @param owner The name of the conversion, for errors.
 * @param add Adds the result for a message to `made`, or to the last message there. Returns whether it added anything.
 * @param check See {@link checkMessages}.
 * @throws StoreError `INVALID_ARGUMENT` as {@link checkMessages} does.
 */
export function convertMessages<G, M>(
  owner: string,
  messages: readonly G[],
  add: (made: M[], message: G, losses: MessageLosses) => boolean,
  check?: (message: unknown) => string | undefined,
): Conversion<M> {
  checkMessages(owner, messages, check);
  const made: M[] = [];
  const lost: Lost[] = [];
  for (const [index, message] of messages.entries()) {
    const losses = new MessageLosses(index);
    const isMade = add(made, message, losses);
    lost.push(...losses.found(isMade));
  }
  return { messages: made, lost };
}

function isInside(inner: string, path: string): boolean {
  return inner.startsWith(path) && (inner[path.length] === "." || inner[path.length] === "[");
}

function join(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

import { invalid } from "./arguments.ts";
import { chatMessageTraits } from "./message.ts";

/** Something of a message that a conversion could not take over. */
export interface Lost {
  /** The index of the message in what was given. */
  readonly index: number;
  /** Where it is in that message, such as `content[0].providerOptions`. Empty for the whole message. */
  readonly path: string;
  /** `dropped`: the result does not have it. `changed`: the result has it in another form or at another position. */
  readonly effect: "dropped" | "changed";
}

/** Messages in another framework's form, and what has no counterpart there. */
export interface Conversion<M> {
  readonly messages: M[];
  readonly lost: Lost[];
}

/** Collects what is lost of one message. For conversions between message types. */
export class MessageLosses {
  #lost: Lost[] = [];
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  /** What was lost; the whole message where nothing of it was made. */
  found(isMade: boolean): readonly Lost[] {
    return isMade ? this.#lost : [{ index: this.index, path: "", effect: "dropped" }];
  }

  /** Names what is at a path, in the place of what was named inside of it. */
  dropped(path: string): void {
    this.#lost = this.#lost.filter(({ path: inner }) => !isInside(inner, path));
    this.#lost.push({ index: this.index, path, effect: "dropped" });
  }

  changed(path: string): void {
    this.#lost.push({ index: this.index, path, effect: "changed" });
  }

  /** Converts each value of the array at a path. Names each for which `convert` returns undefined as dropped. */
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

  /** Names each of these fields, which a conversion does not read, as dropped. A field that is undefined counts as absent. */
  unread(path: string, fields: object): void {
    for (const [key, value] of Object.entries(fields)) if (value !== undefined) this.dropped(join(path, key));
  }
}

/**
 * Converts messages one after the other, after a check of all.
 *
 * @param owner The name of the conversion, for errors.
 * @param add Adds what it makes of a message to `made`, or to the last message there. Returns whether it added anything.
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

/**
 * Checks the messages that a conversion is given.
 *
 * @param check Says what is wrong with a value that should be a message. Default: the check of {@link chatMessageTraits}.
 * @throws StoreError `INVALID_ARGUMENT` that names `owner` and the index of the first value that is not a message.
 */
export function checkMessages(
  owner: string,
  messages: unknown,
  check: (message: unknown) => string | undefined = (message) => chatMessageTraits.check?.(message),
): void {
  if (!Array.isArray(messages)) invalid(`${owner}: messages must be an array`);
  // By index: a hole in the array is a value that is not a message.
  for (let index = 0; index < messages.length; index++) {
    const problem = check(messages[index]);
    if (problem) invalid(`${owner}: messages[${index}] ${problem}`);
  }
}

import type { Rows, Session } from "./sessions.ts";
import { quote } from "./text.ts";

/** The functions of a schema. Each call is one request. */
export class Functions {
  readonly #session: Session;
  readonly #schema: string;
  /** The statements by the name of the function and how it is called. */
  readonly #statements = new Map<string, string>();

  constructor(session: Session, schema: string) {
    this.#session = session;
    this.#schema = schema;
  }

  /**
   * Calls a function that returns one value.
   *
   * @param repetition `once`: it must not be sent again after a lost connection.
   */
  async value(name: string, values: readonly unknown[], repetition?: "once"): Promise<unknown> {
    const [row] = await this.#session.query(this.#statement("SELECT", name, values), values, repetition);
    return row?.[0];
  }

  /** Calls a function that returns a table. */
  async rows(name: string, values: readonly unknown[]): Promise<Rows> {
    return await this.#session.query(this.#statement("SELECT * FROM", name, values), values);
  }

  #statement(how: string, name: string, values: readonly unknown[]): string {
    const known = this.#statements.get(name);
    if (known !== undefined) return known;
    const parameters = values.map((_, index) => `$${index + 1}`);
    const text = `${how} ${quote(this.#schema)}.${name}(${parameters.join(", ")})`;
    this.#statements.set(name, text);
    return text;
  }
}

import type { Rows, Session, Value } from "./sessions.ts";
import { quote } from "./text.ts";

/** The functions of a schema. Each call is one request. */
export class Functions {
  readonly #session: Session;
  readonly #schema: string;
  /** The statements by the name of the function. */
  readonly #statements = new Map<string, string>();

  constructor(session: Session, schema: string) {
    this.#session = session;
    this.#schema = schema;
  }

  /** Calls a function that returns one value. */
  async value(name: string, values: readonly Value[]): Promise<string | null> {
    const text = this.#statement(name, values, (call) => `SELECT ${call}::pg_catalog.text`);
    const [row] = await this.#session.query(text, values);
    return row?.[0] ?? null;
  }

  /** Calls a function that returns a table. */
  async rows(name: string, columns: readonly string[], values: readonly Value[]): Promise<Rows> {
    const texts = columns.map((column) => `${column}::pg_catalog.text`).join(", ");
    return await this.#session.query(
      this.#statement(name, values, (call) => `SELECT ${texts} FROM ${call}`),
      values,
    );
  }

  #statement(name: string, values: readonly Value[], write: (call: string) => string): string {
    const known = this.#statements.get(name);
    if (known !== undefined) return known;
    const parameters = values.map((_, index) => `$${index + 1}`);
    const text = write(`${quote(this.#schema)}.${name}(${parameters.join(", ")})`);
    this.#statements.set(name, text);
    return text;
  }
}

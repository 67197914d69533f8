import type { SqliteClient } from "@scrollback/documents/sqlite";
import { classifyD1 } from "../src/errors.ts";

/** Executes statements in workerd, without the driver that is tested. */
export class RawClient implements SqliteClient {
  readonly capabilities = Object.freeze({ backend: "raw", sharing: "network" });
  readonly #url: string;
  count = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async batch(statements: Parameters<SqliteClient["batch"]>[0]) {
    this.count += 1;
    const reply = await fetch(`${this.#url}/sql`, { method: "POST", body: JSON.stringify(statements) });
    const { rows, error } = (await reply.json()) as { rows: Record<string, unknown>[][]; error?: string };
    if (error !== undefined) throw new Error(error);
    return rows;
  }

  async close(): Promise<void> {}

  classifyError = classifyD1;
}

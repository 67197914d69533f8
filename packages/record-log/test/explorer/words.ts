import type { Amendment, LogRow } from "../../src/index.ts";
import type { Order } from "./log.ts";

export const START = 1_800_000_000_000;
/** What a record has before its letter. */
export const RECORD = "1u0000000000000";

/**
 * Words for rows and requests that are equal in two executions: a random token gets the name of the row that its process inserted as
 * its first, second …
 */
export class Words {
  readonly #names: Map<string, string>;
  readonly #prefix: string;
  readonly #described = new WeakMap<LogRow, string>();

  constructor(from?: Words) {
    this.#names = new Map(from ? from.#names : []);
    this.#prefix = from ? "" : "before ";
  }

  nameRow({ head }: LogRow, process: number, index: number): void {
    const { t } = JSON.parse(head) as { t: string };
    this.#names.set(t, `${this.#prefix}${process}#${index}`);
  }

  ofReply(value: unknown): string {
    if (Array.isArray(value)) return value.map((part) => this.ofReply(part)).join();
    return isRow(value) ? this.row(value) : JSON.stringify(value);
  }

  ofOrder(order: Order): string {
    if (order.verb === "insert") return `insert ${this.row(order.row)}`;
    if (order.verb === "read") return `read ${order.limit} below ${this.number(order.below)}`;
    return order.verb === "amend" ? `amend ${order.amendments.map((one) => this.#change(one))}` : order.verb;
  }

  #change({ from, to, blank, expiresAt, extend }: Amendment): string {
    const rows = to === from + 1 ? this.number(from) : `${this.number(from)}-${this.number(to - 1)}`;
    const until = expiresAt && ` expires ${this.#time(expiresAt)}`;
    const later =
      extend && ` at least ${this.#time(extend.atLeast)} to ${this.#time(extend.to ?? undefined)}`;
    return `${rows}${blank ? ` blank ${JSON.stringify(blank)}` : ""}${until ?? ""}${later ?? ""}`;
  }

  row(row: LogRow): string {
    const known = this.#described.get(row);
    if (known !== undefined) return known;
    const { number, head, texts, expiresAt } = row;
    const shown = texts.map((text) => text.slice(RECORD.length) || "-").join("");
    const words = this.named(`${this.number(number)} [${shown}] until ${this.#time(expiresAt)} ${head}`);
    this.#described.set(row, words);
    return words;
  }

  number(number: number): string {
    return number < 2 ** 40 ? `root ${number}` : number > 2 ** 53 ? "end" : `${number - START * 2_048}`;
  }

  #time(time: number | undefined): string {
    return time === undefined ? "never" : `day ${Math.round((time - START) / 864) / 100_000}`;
  }

  named(text: string): string {
    return text.replace(/[\w-]{16}/g, (token) => this.#names.get(token) ?? token);
  }
}

function isRow(value: unknown): value is LogRow {
  return typeof value === "object" && value !== null && "head" in value;
}

import { readFileSync } from "node:fs";

/** The documented rules for a user with minimal permissions, so that the tests use the documentation's text. */
export function documentedRules(deployment: "server" | "cluster"): string[] {
  const page = readFileSync(new URL("../../../docs/reference/store-redis.md", import.meta.url), "utf8");
  const [definition = ""] = /^ACL SETUSER [^`]*/m.exec(page) ?? [];
  const [more = ""] = deployment === "cluster" ? (/(?:`[^`]*`) for a\s+cluster/.exec(page) ?? []) : [];
  return [...`${definition} ${more}`.matchAll(/\+[\w|]+/g)].map(([rule]) => rule);
}

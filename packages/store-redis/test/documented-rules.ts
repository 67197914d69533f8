import { readFileSync } from "node:fs";

/** The rules that the documentation gives for the least user, so that what is tested is what is told. */
export function documentedRules(deployment: "server" | "cluster"): string[] {
  const page = readFileSync(new URL("../../../docs/reference/store-redis.md", import.meta.url), "utf8");
  const [definition = ""] = /^ACL SETUSER [^`]*/m.exec(page) ?? [];
  const [more = ""] = deployment === "cluster" ? (/(?:`[^`]*`) for a\s+cluster/.exec(page) ?? []) : [];
  return [...`${definition} ${more}`.matchAll(/\+[\w|]+/g)].map(([rule]) => rule);
}

import { createHash } from "node:crypto";
import type { Server } from "./connection.ts";

/** A digest of a text: 16 hexadecimal digits. */
export function markOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/**
 * Returns a digest that changes when keys move from one server to another. Each server reports its slots and its
 * configuration epoch, which increases with every slot that moves to it. For a moving slot it includes the number of its
 * remaining keys, which only decreases, because new keys are created at the target.
 */
export async function topologyOf(servers: readonly Server[]): Promise<string> {
  const [only] = servers;
  if (servers.length === 1 && only?.mark === markOf("")) return only.mark;
  const texts = await Promise.all(servers.map(describe));
  return markOf(texts.sort().join("\n"));
}

async function describe(server: Server): Promise<string> {
  const text = String(await server.call({ words: ["cluster", "nodes"] }));
  // <id> <address> <flags> <primary> <ping sent> <pong received> <epoch> <link> <slot> ...
  const words =
    text
      .split("\n")
      .find((line) => /^\S+ \S+ \S*myself/.test(line))
      ?.split(" ") ?? [];
  const [id, epoch, slots] = [words[0], words[6], words.slice(8)];
  const leaving = slots.flatMap((slot) => /^\[(\d+)->-/.exec(slot)?.[1] ?? []);
  const left = await Promise.all(
    leaving.map((slot) => server.call({ words: ["cluster", "countkeysinslot", slot] })),
  );
  return [id, epoch, ...slots, "left", ...left].join(" ");
}

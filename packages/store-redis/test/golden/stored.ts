import type { Redis } from "ioredis";

/** A key in a golden file: its complete content in Redis. */
export type StoredKey = { readonly expiresAt?: number } & (
  | { readonly list: readonly string[] }
  | { readonly hash: Readonly<Record<string, string>> }
);

/** By the key's name. */
export type Stored = Readonly<Record<string, StoredKey>>;

/** The complete content of a database. */
export async function readStored(client: Redis): Promise<Stored> {
  const stored: Record<string, StoredKey> = {};
  for (const key of (await client.keys("*")).sort()) {
    const isList = (await client.type(key)) === "list";
    const content = isList ? { list: await client.lrange(key, 0, -1) } : { hash: await client.hgetall(key) };
    const expiresAt = await client.pexpiretime(key);
    stored[key] = { ...content, ...(expiresAt >= 0 && { expiresAt }) };
  }
  return stored;
}

/** Replaces the content of a database; the server may be shared. Expired keys disappear at once. */
export async function writeStored(client: Redis, stored: Stored): Promise<void> {
  await client.flushdb();
  for (const [key, content] of Object.entries(stored)) {
    if ("list" in content) await client.rpush(key, ...content.list);
    else await client.hset(key, content.hash);
    if (content.expiresAt !== undefined) await client.pexpireat(key, content.expiresAt);
  }
}

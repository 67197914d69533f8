import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";

const NAME = "web-chat-owner";
const A_YEAR_IN_SECONDS = 31_536_000;

/** Identifies a browser by a random id in a signed cookie. An application with accounts uses its own user id instead. */
export interface Owners {
  /** The owner in a `cookie` header; undefined if the cookie is missing or its signature is wrong. */
  read(header: string | undefined): string | undefined;
  /** The `set-cookie` header of a new owner; undefined if the browser has a cookie already. */
  cookieFor(header: string | undefined): string | undefined;
}

/** Signs with the secret in `file`; creates the file if it is missing. Servers that share chats must share the file. */
export async function createOwners(file: string): Promise<Owners> {
  const secret = await readOrCreate(file);
  const sign = (owner: string) => createHmac("sha256", secret).update(owner).digest("base64url");
  const read = (header = "") => {
    const [, owner = "", signature = ""] =
      new RegExp(`(?:^|; )${NAME}=([^.;]+)\\.([^;]+)`).exec(header) ?? [];
    const expected = Buffer.from(sign(owner));
    const given = Buffer.from(signature);
    return expected.length === given.length && timingSafeEqual(expected, given) ? owner : undefined;
  };
  return {
    read,
    cookieFor(header) {
      if (read(header) !== undefined) return undefined;
      const owner = randomUUID();
      return `${NAME}=${owner}.${sign(owner)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${A_YEAR_IN_SECONDS}`;
    },
  };
}

async function readOrCreate(file: string): Promise<Buffer> {
  // Linked when complete: another server that starts now must not read half a secret.
  const own = `${file}.${process.pid}`;
  await writeFile(own, randomBytes(32), { mode: 0o600 });
  await link(own, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await rm(own);
  return readFile(file);
}

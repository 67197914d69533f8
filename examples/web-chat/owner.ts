import { createHash, randomUUID } from "node:crypto";

const NAME = "web-chat-owner";
const A_YEAR_IN_SECONDS = 31_536_000;

/**
 * Identifies a browser by a random cookie, which nobody can guess. An application with accounts uses its own user id instead.
 * Stored is only a digest: who reads the database gets no cookie. Undefined if the cookie is missing.
 */
export function ownerOf(header = ""): string | undefined {
  const [, secret] = new RegExp(`(?:^|; )${NAME}=([\\w-]{36})(?:;|$)`).exec(header) ?? [];
  return secret && createHash("sha256").update(secret).digest("base64url");
}

/** The `set-cookie` header of a new owner. */
export const newCookie = () =>
  `${NAME}=${randomUUID()}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${A_YEAR_IN_SECONDS}`;

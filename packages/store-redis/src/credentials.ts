import { StoreError } from "@scrollback/store-core";
import { inTime } from "./in-time.ts";

/** See the option `credentials`. */
export type CredentialsProvider = () => Promise<{ username?: string; password: string }>;

/**
 * Asks a provider for the credentials of a new connection.
 *
 * @throws StoreError `UNAVAILABLE`, retryable, if the provider fails or does not reply in time; `INVALID_ARGUMENT` for anything but
 *   credentials.
 */
export async function askFor(
  provider: CredentialsProvider,
): Promise<{ username?: string; password: string }> {
  let credentials: { username?: string; password: string };
  try {
    credentials = await inTime(async () => await provider());
  } catch (cause) {
    const message = "redis: credentials failed, or did not reply in time; see cause";
    throw new StoreError("UNAVAILABLE", message, { retryable: true, cause });
  }
  const { username, password } = credentials ?? {};
  if (typeof password === "string" && ["string", "undefined"].includes(typeof username)) return credentials;
  throw new StoreError("INVALID_ARGUMENT", "credentials: must return { username?, password }, both strings");
}

/** Whether the server refused a login, which the provider may have changed meanwhile. */
export function isRefusedLogin(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("WRONGPASS");
}

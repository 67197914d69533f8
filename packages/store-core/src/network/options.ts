import { type Check, invalid } from "../arguments.ts";

/**
 * How long a client that an adapter opens waits for a connection, and for a reply, in milliseconds. Less than store-core's
 * 5 seconds of retries, so that a request without a reply is sent once more.
 */
export const CONNECT_TIMEOUT_MS = 4_000;
export const REPLY_TIMEOUT_MS = 4_000;

/** What a factory works with. */
export interface UsedClient<Client> {
  readonly client: Client;
  /** Whether it was opened for the factory alone, which then closes it. */
  readonly owned: boolean;
}

/**
 * The client that was handed in, or the one that `open` makes for the URL, without connecting yet.
 *
 * @throws StoreError `INVALID_ARGUMENT` unless exactly one of `url` and `client` is given.
 */
export function clientFrom<Client>(
  owner: string,
  { url, client }: { url?: string | undefined; client?: Client | undefined },
  open: (url: string) => Client,
): UsedClient<Client> {
  if (url !== undefined && client === undefined) return { client: open(url), owned: true };
  if (url === undefined && client !== undefined) return { client, owned: false };
  return invalid(`${owner}: give either url or client`);
}

/**
 * The check of an option `url`. Its message says what a URL must look like and never shows the one that was given, which may
 * hold a password.
 *
 * @param form such as `redis://[user:password@]host[:port][/db]`.
 * @param schemes without the colon.
 * @param accepts what else must hold; return a message, which begins with "must", where it says more than the form.
 */
export function isUrl(
  form: string,
  schemes: readonly string[],
  accepts: (url: URL) => boolean | string = () => true,
): Check {
  const problem = `must read ${form}`;
  return (value) => {
    const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
    if (url === undefined || !schemes.includes(url.protocol.slice(0, -1))) return problem;
    if (!isPercentEncoded(url.username) || !isPercentEncoded(url.password)) return problem;
    const accepted = accepts(url);
    if (typeof accepted === "string") return accepted;
    return accepted ? undefined : problem;
  };
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

import { type Check, invalid } from "../arguments.ts";

/**
 * How long a client that an adapter opens waits for a connection, and for a reply, in milliseconds. Less than store-core's
 * 5 seconds of retries, so that a request without a reply is sent once more.
 */
export const CONNECT_TIMEOUT_MS = 4_000;
export const REPLY_TIMEOUT_MS = 4_000;

/** What a factory works with: the URL for a client of its own, or the client that was handed in. */
export type UrlOrClient<Client> =
  | { readonly url: string; readonly client?: undefined }
  | { readonly client: Client; readonly url?: undefined };

/** @throws StoreError `INVALID_ARGUMENT` unless exactly one of `url` and `client` is given. */
export function urlOrClient<Client>(
  owner: string,
  { url, client }: { url?: string | undefined; client?: Client | undefined },
): UrlOrClient<Client> {
  if (url !== undefined && client === undefined) return { url };
  if (url === undefined && client !== undefined) return { client };
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

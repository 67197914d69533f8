import { type Check, invalid } from "../../arguments.ts";

/** The client of a factory. */
export interface UsedClient<Client> {
  readonly client: Client;
  /** Whether the factory opened the client, and closes it. */
  readonly owned: boolean;
}

/**
 * Returns the client that was passed in, or the one that `open` makes for the URL. Does not connect.
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
 * The check of an option `url`. Its message describes a valid URL and never contains the given one, which may have a
 * password.
 *
 * @param form such as `redis://[user:password@]host[:port][/db]`.
 * @param schemes without the colon.
 * @param accepts further checks; returns a message that begins with "must" if it says more than the form.
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

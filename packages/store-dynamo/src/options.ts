import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  type Check,
  checkFactoryOptions,
  clientFrom,
  hasMethods,
  invalid,
  isUrl,
  REQUEST_TIMEOUT_MS,
  type UsedClient,
} from "@scrollback/store-core/driver";

/** Options of `createDynamoStores`: either `url` or `client`, and the options of every backend. */
export interface DynamoStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `dynamodb://table`, with `?region=…` and `&endpoint=…` if the AWS SDK should not find them itself. Credentials come from
   * the SDK's standard chain (environment, shared files, the machine's role) and must not be in the URL.
   */
  url?: string;
  /** A client of `@aws-sdk/client-dynamodb`, for custom credentials, timeouts or retries. The factory never destroys it. */
  client?: DynamoDBClient;
  /** The table, only with `client`; a `url` contains the table. Default `"scrollback"`. */
  tableName?: string;
}

/** The client and its table. */
export interface DynamoConnection extends UsedClient<DynamoDBClient> {
  readonly tableName: string;
}

const CONNECT_TIMEOUT_MS = 2_000;
/**
 * One retry by the SDK, for a connection that was closed while idle. store-core retries longer failures with the same
 * operation id.
 */
const MAX_ATTEMPTS = 2;

const isTableName: Check = (value) =>
  typeof value === "string" && /^[a-zA-Z0-9_.-]{3,247}$/.test(value)
    ? undefined
    : "must be the name of a table: 3 to 247 of a-z, A-Z, 0-9, _, - and .";

const URL_FORM = "dynamodb://table?region=…&endpoint=…";

const isDynamoUrl = isUrl(`${URL_FORM}, the parameters as needed`, ["dynamodb"], (url) => {
  if (url.username !== "" || url.password !== "") {
    return "must hold no credentials; the AWS SDK finds them in the environment, the shared files or the machine's role, or hand in a client";
  }
  const tableProblem = isTableName(url.host);
  if (tableProblem) return `must read ${URL_FORM}; its table ${tableProblem}`;
  const names = [...url.searchParams.keys()];
  const isRight =
    /^\/?$/.test(url.pathname) &&
    url.hash === "" &&
    names.every((name) => name === "region" || name === "endpoint") &&
    new Set(names).size === names.length &&
    /^[a-z0-9-]+$/.test(url.searchParams.get("region") ?? "none") &&
    isEndpoint(url.searchParams.get("endpoint") ?? "http://none");
  return (
    isRight ||
    `must read ${URL_FORM}, where endpoint is an http or https URL without credentials; for other settings hand in a client`
  );
});

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "";
}

const optionChecks: Readonly<Record<Exclude<keyof DynamoStoreOptions, keyof StoreOptions>, Check>> = {
  url: isDynamoUrl,
  client: hasMethods("send", "destroy"),
  tableName: isTableName,
};

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function parseOptions<M>(options: DynamoStoreOptions<M>): {
  connection: DynamoConnection;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createDynamoStores", options, optionChecks);
  const { url, client, tableName, ...storeOptions } = options ?? {};
  return { connection: connectionOf(url, client, tableName), storeOptions };
}

function connectionOf(
  url: string | undefined,
  client: DynamoDBClient | undefined,
  tableName: string | undefined,
): DynamoConnection {
  const used = clientFrom("createDynamoStores", { url, client }, openClient);
  if (url === undefined) return { ...used, tableName: tableName ?? "scrollback" };
  if (tableName !== undefined)
    invalid("createDynamoStores: tableName cannot be combined with url; put the table into url");
  return { ...used, tableName: new URL(url).host };
}

function openClient(url: string): DynamoDBClient {
  const { searchParams } = new URL(url);
  const region = searchParams.get("region");
  const endpoint = searchParams.get("endpoint");
  return new DynamoDBClient({
    ...(region !== null && { region }),
    ...(endpoint !== null && { endpoint }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      // Not requestTimeout, which includes the wait for a free connection and ends at the first byte of the reply.
      socketTimeout: REQUEST_TIMEOUT_MS,
    },
  });
}

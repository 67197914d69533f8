import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { inspect } from "node:util";
import type { StoreFactory } from "@scrollback/store-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { rejection, thrown } from "../checks/errors.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";
import { declareOtherSettings, type HandedIn } from "./other-settings.ts";
import { declareProxied, type ProxiedServer } from "./proxied.ts";

/** A refusal by the server: the options that cause it, and the text that the message must contain. */
interface Refusal<Options> {
  readonly options: Options;
  readonly says: RegExp;
}

/** The options of {@link runFactory}. Each part declares its own tests; an absent part declares none. */
export interface FactoryTestOptions<Options> {
  /** The name in the report. */
  readonly name: string;
  /** The adapter's factory. The tests also call it with options of wrong types. */
  create(options: Options): StoreFactory;
  /** A text that no message may contain. The tests' URLs should use it as their password. */
  readonly secret: string;
  /** For an adapter that takes either `url` or `client`. These tests need no server. */
  readonly options?: {
    /** A valid URL; no server needs to listen there. */
    readonly url: string;
    /** A client that has not connected. */
    client(): object;
    /** Invalid options specific to the adapter, and the name that the message must contain. */
    readonly wrong: readonly (readonly [options: object, name: string])[];
    readonly wrongUrls: readonly unknown[];
    /** The part of the message for an invalid URL that describes the valid form. */
    readonly urlMustRead: RegExp;
    /** Further parts of the invalid URLs that no message may contain. Default: none. */
    readonly hidden?: readonly string[];
  };
  /**
   * By title: options for an address without a server, and the texts that the message must contain. Retried for 5 seconds, all at
   * once.
   */
  readonly outages?: Readonly<Record<string, readonly [options: () => Options, ...parts: string[]]>>;
  /** Options for a port of 127.0.0.1 whose server never replies. */
  silent?(port: number): Options;
  /** A server behind a proxy that holds back its replies. */
  readonly proxied?: ProxiedServer<Options>;
  /** A client on a server. */
  handIn?(): Promise<HandedIn<Options>>;
  /** By title: clients on the server of {@link handIn}, with settings that change how values are sent, converted or read. */
  readonly otherSettings?: Readonly<Record<string, () => Promise<HandedIn<Options>>>>;
  /** Options of a namespace in which nothing was made yet. Only for a backend that has something to set up. */
  unprepared?(): Promise<object>;
  /** By title: a permanent refusal by a server, for example of a wrong password. */
  readonly refusals?: Readonly<Record<string, () => Refusal<Options> | Promise<Refusal<Options>>>>;
}

/** The store retries during an outage for 5 seconds, and a harness may have to start its server first. */
const TEST_TIMEOUT_MS = 120_000;

/** Calls with a permanent failure end long before the 5 seconds for which the store retries others. */
const AT_ONCE_MS = 4_000;

/**
 * Declares the tests of an adapter's `create…Stores`, beside those of `runConformance` on its driver: that it refuses invalid
 * options, leaves a user's client open, and reports errors of the server. Call it at the top level of a Vitest file.
 *
 * @example
 * runFactory({ name: "Redis", create: createRedisStores, secret: "hunter2", options, outages });
 */
export function runFactory<Options>(given: FactoryTestOptions<Options>): void {
  describe(`${given.name}'s factory`, { timeout: TEST_TIMEOUT_MS }, () => {
    if (given.options) declareOptions(given, given.options);
    if (given.outages || given.silent) declareOutages(given);
    if (given.proxied) declareProxied(given.create, given.proxied);
    if (given.handIn) declareHandedIn(given.create, given.handIn);
    if (given.handIn && given.otherSettings)
      declareOtherSettings(given.create, given.handIn, given.otherSettings);
    if (given.unprepared) declareUnprepared(given.create, given.unprepared);
    for (const [title, refusal] of Object.entries(given.refusals ?? {})) {
      test(`${title}: every call fails at once, names the reason and shows no secret`, async () => {
        const { options, says } = await refusal();
        await using stores = given.create(options);
        const store = stores.open();
        for (const call of [
          () => stores.setup(),
          () => store.addMessages([user("a private text")]),
          () => store.read(),
        ]) {
          const start = performance.now();
          const error = await rejection(call(), "UNAVAILABLE");
          expect(performance.now() - start, "milliseconds to fail").toBeLessThan(AT_ONCE_MS);
          expect(error.retryable).toBe(false);
          expect(error.message).toMatch(says);
          const shown = inspect(error, { depth: null, showHidden: true });
          for (const hidden of [given.secret, "a private text"]) expect(shown).not.toContain(hidden);
        }
      });
    }
  });
}

function declareOptions<Options>(
  { create, secret }: FactoryTestOptions<Options>,
  {
    url,
    client,
    wrong,
    wrongUrls,
    urlMustRead,
    hidden = [],
  }: NonNullable<FactoryTestOptions<Options>["options"]>,
): void {
  const refusal = (options: unknown) => {
    const error = thrown(() => create(options as Options), "INVALID_ARGUMENT");
    expect(error.message).not.toContain(secret);
    return error;
  };

  test("exactly one of url and client is required", () => {
    for (const options of [undefined, {}, { url, client: client() }]) {
      expect(refusal(options).message).toContain("either url or client");
    }
  });

  const wrongAnywhere: readonly (readonly [object, string])[] = [
    [{ url, maxMessage: 3 }, "maxMessage"],
    [{ url, maxMessages: 0 }, "maxMessages"],
    [{ url, ttlMs: 1.5 }, "ttlMs"],
    [{ url, codec: {} }, "codec"],
    [{ url, setup: "yes" }, "setup"],
    [{ client: {} }, "client"],
    [{ client: url }, "client"],
  ];
  test.each([...wrongAnywhere, ...wrong])("%o is refused, naming %s", (options, name) => {
    expect(refusal(options).message).toContain(name);
  });

  test.each([...wrongUrls, "", 42, null])(
    "the url %o is refused with the accepted form, and is not shown",
    (one) => {
      const { message, cause } = refusal({ url: one });
      expect(message).toMatch(urlMustRead);
      for (const part of hidden) expect(message).not.toContain(part);
      expect(cause).toBeUndefined();
    },
  );

  test("a url with the name of an option is refused", () => {
    const separator = url.includes("?") ? "&" : "?";
    expect(refusal({ url: `${url}${separator}maxMessages=3` }).message).toContain("url");
  });

  test("creates stores without I/O, which can be closed unused", async () => {
    const stores = create({ url } as Options);
    expect(await stores.open("a").serialize()).toMatchObject({ threadId: "a" });
    await stores.close();
  });
}

function declareOutages<Options>({
  create,
  secret,
  outages = {},
  silent,
}: FactoryTestOptions<Options>): void {
  const expectOutage = async (options: Options, parts: readonly (string | RegExp)[]) => {
    await using stores = create(options);
    const errors = await Promise.all([
      rejection(stores.open().listMessages(), "UNAVAILABLE"),
      rejection(stores.open().addMessages([user("a private text")]), "UNAVAILABLE"),
    ]);
    for (const error of errors) {
      expect(error.retryable, "may be tried again").toBe(true);
      for (const part of parts) expect(error.message).toMatch(part);
      for (const hidden of [secret, "a private text"]) expect(error.message).not.toContain(hidden);
    }
  };
  describe.concurrent("an outage is reported with the server and the root cause", () => {
    for (const [title, [options, ...parts]] of Object.entries(outages)) {
      test(title, () => expectOutage(options(), parts));
    }
    if (silent) {
      test("a server that never replies", async ({ onTestFinished }) => {
        const port = await silentPort(onTestFinished);
        await expectOutage(silent(port), [`127.0.0.1:${port}`, /timeout|ETIMEDOUT/]);
      });
    }
  });
}

/** The port of a server on 127.0.0.1 that accepts connections and never replies. `later` receives the function that stops it. */
async function silentPort(later: (end: () => void) => void): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function declareUnprepared<Options>(
  create: (options: Options) => StoreFactory,
  unprepared: () => Promise<object>,
): void {
  test("with setup: true the first calls of several factories at once make what is missing", async () => {
    const options = await unprepared();
    const open = (setup: boolean) => create({ ...options, setup } as Options);
    const factories = [true, true, true].map(open);
    onTestFinished(async () => void (await Promise.all(factories.map((stores) => stores.close()))));
    const stores = factories.map((one) => one.open());
    await Promise.all(stores.map((store) => store.addMessages(numbered(2))));
    const plain = open(false);
    onTestFinished(() => plain.close());
    for (const store of stores) {
      expect(await textsIn(plain.open(store.threadId))).toEqual(["message 1", "message 2"]);
      expect(await store.serialize()).not.toHaveProperty("setup");
    }
    expect((await plain.listThreads()).threads).toHaveLength(3);
    await plain.setup();
  });
}

function declareHandedIn<Options>(
  create: (options: Options) => StoreFactory,
  handIn: () => Promise<HandedIn<Options>>,
): void {
  test("a caller's client stays open, and serves several factories", async () => {
    const { options, use, close } = await handIn();
    onTestFinished(async () => void (await close()));
    const [stores, others] = [create(options), create(options)];
    const store = stores.open();
    await store.addMessages(numbered(2));
    await stores.close();
    await stores.close();
    await rejection(store.listMessages(), "CLOSED");
    await use();
    expect(await textsIn(others.open(store.threadId))).toEqual(["message 1", "message 2"]);
    await others.close();
    await use();
  });
}

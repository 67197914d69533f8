import { asCheck, logged, offerTelemetry } from "#diagnostics";
import { byteLength, checkRuntime, sha256 } from "#runtime";
import {
  type Check,
  checkOptions,
  checkValue,
  hasMethods,
  invalid,
  isBoolean,
  isFunction,
  isId,
  isOneOf,
  isPositiveInteger,
  isSignal,
  isTtl,
} from "../arguments.ts";
import { type Clock, systemClock } from "../clock.ts";
import { checkedCodec, jsonCodec } from "../codec/codec.ts";
import { digestOf } from "../codec/digest.ts";
import { decodeMetadata } from "../codec/record.ts";
import { type CommitRequest, type Driver, REPEATED_WITHIN_MS } from "../driver/driver.ts";
import { formatRevision, newIncarnation } from "../driver/revision.ts";
import { revisionConflict, StoreError } from "../errors.ts";
import { chatMessageTraits } from "../message/chat-message-traits.ts";
import type { ChatMessage, MessageTraits } from "../message/message.ts";
import { randomId, uuidV7 } from "../random.ts";
import { isRevision, PortableStore } from "../store/portable-store.ts";
import { SetupOnDemand } from "../store/setup-on-demand.ts";
import { parseState, type StoreSettings } from "../store/state.ts";
import { StoreContext } from "../store/store-context.ts";
import { trimmings } from "../trimming/trimming.ts";
import { copyChecks, copyThread } from "./copy-thread.ts";
import { iterateThreads, listThreads } from "./list-threads.ts";
import type { StoreFactory, StoreOptions } from "./store-factory.ts";
import { listIndexes, type StoreIndex, storeIndexOf } from "./store-index.ts";

checkRuntime();

/** The {@link StoreContext} of each factory, for calls that involve two factories. */
const contexts = new WeakMap<object, StoreContext<unknown>>();

/** The checks of {@link StoreOptions}, which every factory has. */
export const storeOptionChecks: Readonly<Record<keyof StoreOptions, Check>> = Object.freeze({
  maxMessages: isPositiveInteger,
  trimming: isOneOf(...trimmings),
  ttlMs: isTtl,
  codec: hasMethods("encode", "decode"),
  traits: hasMethods("role", "toolCalls", "toolResults"),
  onCorruptRecord: isFunction,
  setup: isBoolean,
});

/**
 * Checks the options of an adapter's `create…Stores`, as {@link checkOptions} does. Also refuses a `url` with a parameter that has
 * the name of an option, in any case, such as `?tableName=chats`. Clients ignore parameters that they do not know, so the stores
 * would use the default table. Other parameters are left to the client: URLs of hosting providers and of other libraries hold
 * some (`channel_binding`, `pgbouncer`) that the client ignores.
 *
 * @param owner the name of the function, such as `createRedisStores`.
 * @param ownChecks of the options beyond {@link StoreOptions}.
 * @throws StoreError `INVALID_ARGUMENT`; the message names `owner`, the option and the fix, and never shows the URL.
 */
export function checkFactoryOptions(
  owner: string,
  options: unknown,
  ownChecks: Readonly<Record<string, Check>>,
): void {
  const checks = { ...ownChecks, ...storeOptionChecks };
  refuseUrlParameters(owner, (options as { url?: unknown } | null | undefined)?.url, Object.keys(checks));
  checkOptions(owner, options, checks);
}

/** Refuses a URL with a parameter that has the name of an option. The URL may name several hosts, which `URL` cannot parse. */
export function refuseUrlParameters(owner: string, url: unknown, options: readonly string[]): void {
  if (typeof url !== "string" || !url.includes("?")) return;
  for (const name of new URLSearchParams(url.slice(url.indexOf("?"))).keys()) {
    const option = options.find((one) => one.toLowerCase() === name.toLowerCase());
    if (option !== undefined) {
      invalid(`${owner}: url must not contain the option ${option}; pass ${option} to ${owner} beside url`);
    }
  }
}

/**
 * Makes a factory from a driver. Every `create…Stores` of an adapter calls it. The adapter checks its own options, beyond
 * {@link StoreOptions}.
 *
 * @param how the clock of retries and pauses, for tests. Default: the system clock.
 * @throws StoreError `INVALID_ARGUMENT` for an invalid option, `UNSUPPORTED` for an option that the driver cannot honour.
 */
export function createStores<M = ChatMessage>(
  driver: Driver,
  options: StoreOptions<M> = {},
  { clock = systemClock }: { readonly clock?: Clock } = {},
): StoreFactory<M> {
  checkOptions("createStores", options, storeOptionChecks);
  const { maxMessages, trimming, ttlMs, onCorruptRecord } = options;
  const codec = checkedCodec(options.codec ?? jsonCodec);
  const traits = options.traits ?? (chatMessageTraits as MessageTraits<unknown> as MessageTraits<M>);
  const given: StoreSettings = {
    ...(maxMessages !== undefined && { maxMessages }),
    ...(trimming !== undefined && { trimming }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
  offerTelemetry();
  const used = logged(driver);
  const setup = options.setup && used.setup ? new SetupOnDemand(used) : null;
  return factoryOf(new StoreContext<M>(used, given, { codec, traits, onCorruptRecord, clock, setup }));
}

function factoryOf<M>(context: StoreContext<M>): StoreFactory<M> {
  const { driver, codec } = context;
  const factory: StoreFactory<M> = {
    settings: Object.freeze({ backend: driver.capabilities.backend, ...context.settings }),
    open(threadId = uuidV7(), settings = undefined) {
      checkOptions("open", settings, settingChecks);
      context.assertOpen();
      checkValue("open", "threadId", isId, threadId);
      return storeOf(context, threadId, settings);
    },
    restore(state) {
      context.assertOpen();
      const parsed = parseState(state, driver.capabilities.backend);
      const settings = context.settingsFor(parsed);
      if (parsed.thread) driver.importThread?.(parsed.threadId, parsed.thread);
      return new PortableStore(context, parsed.threadId, settings);
    },
    withTraits<N>(traits: MessageTraits<N>) {
      context.assertOpen();
      checkValue("withTraits", "traits", storeOptionChecks.traits, traits);
      return factoryOf(context.withTraits(traits));
    },
    metadataSize(metadata) {
      const write = { threadId: "size", operationId: "size", kind: "m", index: 0 } as const;
      return byteLength(codec.encode(metadata, write));
    },
    index: (name) => storeIndexOf(context, name),
    listIndexes: async (options = {}) => await listIndexes(context, options),
    listThreads: (options = {}) => listThreads(context, options),
    iterateThreads: (options = {}) => iterateThreads(context, options),
    async deleteThread(threadId, options = {}) {
      context.assertOpen();
      checkValue("deleteThread", "threadId", isId, threadId);
      checkOptions("deleteThread", options, deleteChecks);
      const { expectedRevision, signal } = options;
      const operationId = randomId();
      let sendBefore: number | undefined;
      const attempt = () => {
        const request = { threadId, operationId, expectedRevision, sendBefore, signal };
        sendBefore ??= context.clock.monotonic() + REPEATED_WITHIN_MS;
        return driver.delete(request);
      };
      const { outcome } = await context.request(attempt, signal);
      if (outcome === "revision-conflict") throw revisionConflict();
    },
    watch(threadId, onHint) {
      context.assertOpen();
      checkValue("watch", "threadId", isId, threadId);
      checkValue("watch", "onHint", isFunction, onHint);
      return watchThread(driver, threadId, onHint);
    },
    async copyThread(from, to, options = {}) {
      context.assertOpen();
      checkValue("copyThread", "from", isId, from);
      checkValue("copyThread", "to", isId, to);
      checkOptions("copyThread", options, copyChecks);
      const target = contexts.get(options.target ?? factory) as StoreContext<M> | undefined;
      if (!target) return invalid("copyThread: target must be a store factory");
      target.assertOpen();
      if (from === to && target.driver === driver)
        invalid("copyThread: to must be another thread than from, or of another factory");
      const { ttlMs } = options;
      const copy = storeOf(target, to, ttlMs === undefined ? {} : { ttlMs });
      return await copyThread(storeOf(context, from), copy, options);
    },
    async setupScript() {
      context.assertOpen();
      const script = await driver.setupScript?.();
      if (script !== undefined) return script;
      const { backend } = driver.capabilities;
      throw new StoreError(
        "UNSUPPORTED",
        `setupScript: the setup of the ${backend} backend has no statements`,
      );
    },
    setup: () => context.setUp(() => driver.commit(asCheck(refusedCommit()))),
    close: () => context.close(),
    [Symbol.asyncDispose]: () => context.close(),
  };
  contexts.set(factory, context as StoreContext<unknown>);
  return factory;
}

/**
 * The name of a text that tells nobody who has no key of the stores what the text is: its SHA-256, and with a codec the SHA-256 of what
 * the codec makes of that. The same for each call, unless the codec's newest key is another one.
 */
export function nameOfText(stores: StoreFactory<unknown>, text: string): string {
  const digest = sha256(text);
  const { codec = jsonCodec } = contexts.get(stores) ?? {};
  if (codec === jsonCodec) return digest;
  return sha256(codec.encode(digest, { threadId: "name", operationId: "name", kind: "m", index: 0 }));
}

/** The index of a name, whose values do not pass the codec: for what tells nothing, and must be read whatever the keys are. */
export function plainIndexOf(stores: StoreFactory<unknown>, name: string): StoreIndex {
  const context = contexts.get(stores);
  return context ? storeIndexOf(context, name, jsonCodec) : stores.index(name);
}

/** How contents are stored elsewhere. */
interface ContentCodec {
  seal(key: string, content: Uint8Array): Uint8Array;
  /** @throws StoreError `CORRUPT` for what `seal` has not made under this key. */
  open(key: string, sealed: Uint8Array): Uint8Array;
}

/** The codec of the stores for contents that are stored elsewhere under a key; undefined if they are stored as they are. */
export function contentCodecOf(stores: StoreFactory<unknown>): ContentCodec | undefined {
  const { codec = jsonCodec } = contexts.get(stores) ?? {};
  if (codec === jsonCodec) return undefined;
  return {
    seal(key, content) {
      const write = { threadId: key, operationId: key, kind: "m", index: 0 } as const;
      return new TextEncoder().encode(codec.encode(content, write));
    },
    open(key, sealed) {
      const content = decodeMetadata(codec, new TextDecoder().decode(sealed), key);
      if (content instanceof Uint8Array) return content;
      throw new StoreError("CORRUPT", "what is stored of a file is not a file");
    },
  };
}

const { maxMessages, trimming, ttlMs } = storeOptionChecks;
const settingChecks = { maxMessages, trimming, ttlMs };
const deleteChecks = { expectedRevision: isRevision, signal: isSignal };

/** The store of a thread. `settings` override the factory's; undefined settings count as absent. */
function storeOf<M>(context: StoreContext<M>, threadId: string, settings?: StoreSettings): PortableStore<M> {
  if (!settings) return new PortableStore(context, threadId, context.settings);
  if (settings.ttlMs !== undefined) context.assertExpiry();
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  return new PortableStore(context, threadId, { ...context.settings, ...given });
}

/** A commit that reaches the backend and is refused there, because it expects a revision that no thread has. */
function refusedCommit(): CommitRequest {
  const id = uuidV7();
  const incarnation = newIncarnation();
  return {
    threadId: id,
    operationId: id,
    digest: digestOf("all", [], undefined),
    newIncarnation: incarnation,
    expectedRevision: formatRevision(incarnation, 1),
    drop: "all",
    append: [],
    metadata: undefined,
    maxMessages: undefined,
    trimming: "turns",
    ttlMs: undefined,
    createdAt: 0,
    updatedAt: 0,
    signal: undefined,
  };
}

/** See `StoreFactory.watch`. The callback's errors do not reach the driver, and no call of it follows the end of the watch. */
function watchThread(driver: Driver, threadId: string, onHint: () => void): Disposable | undefined {
  let isEnded = false;
  const hint = () => {
    if (!isEnded) onHint();
  };
  const watch = driver.watch?.(threadId, () => queueMicrotask(hint));
  return (
    watch && {
      [Symbol.dispose]() {
        isEnded = true;
        watch[Symbol.dispose]();
      },
    }
  );
}

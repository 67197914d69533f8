import { debuglog } from "node:util";
import type { Driver } from "../driver/driver.ts";
import { callChannels, retryChannel, type StoreCall, type StoreRetry } from "./observation.ts";

/** Writes to stderr in processes that were started with `NODE_DEBUG=scrollback`. */
const log = debuglog("scrollback");
// Cloudflare's runtime says of each section that it is enabled.
const isEnabled = log.enabled && Boolean(process.env.NODE_DEBUG);

/** Requests of our own that a backend refuses if it works. */
const checks = new WeakSet<object>();
let isSubscribed = false;

/** Marks a request whose refusal is its success, so that its line does not show a conflict. */
export function asCheck<T extends object>(request: T): T {
  if (isEnabled) checks.add(request);
  return request;
}

/**
 * With `NODE_DEBUG=scrollback`: the driver with a line for each of its requests, and further lines for each commit, read and retry of the
 * stores. Lines have ids of threads, and no messages, metadata or keys. Otherwise the driver itself.
 */
export function logged(driver: Driver): Driver {
  if (!isEnabled) return driver;
  subscribe();
  return withLines(driver, driver.capabilities.backend);
}

/** @param owner what the line of a request begins with. */
function withLines<T extends object>(requests: T, owner: string): T {
  return new Proxy(requests, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name === "index" && typeof member === "object" && member !== null)
        return withLines(member, `${owner} index`);
      if (typeof member !== "function") return member;
      return (...values: unknown[]) => {
        const start = performance.now();
        const result: unknown = Reflect.apply(member, target, values);
        if (!(result instanceof Promise)) return result;
        const isCheck = checks.has(values[0] as object);
        const request = isCheck ? "check" : `${String(name)}${threadOf(values[0])}`;
        const line = (end: string) =>
          log("  %s: %s in %s ms, %s", owner, request, msOf(performance.now() - start), end);
        result.then(
          (value) => line(isCheck ? "done" : outcomeOf(value)),
          (error) => line(`failed: ${nameOf(error)}`),
        );
        return result;
      };
    },
  });
}

function subscribe(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  const asyncEnd = (message: unknown) => {
    const call = message as StoreCall;
    const { method, threadId, messages, bytes, retries, durationMs, error } = call;
    const end = error === undefined ? "done" : `failed: ${nameOf(error)}`;
    log(
      '%s of "%s" in %s ms: %d messages, %d bytes, %d retries, %s',
      ...[method, threadId, msOf(durationMs), messages, bytes, retries, end],
    );
  };
  for (const calls of Object.values(callChannels)) calls.asyncEnd.subscribe(asyncEnd);
  retryChannel.subscribe((message) => {
    const { call, error } = message as StoreRetry;
    log('%s of "%s" is retried: %s', call.method, call.threadId, error.message);
  });
}

const msOf = (duration: number) => duration.toFixed(1);

function threadOf(request: unknown): string {
  const threadId = (request as { readonly threadId?: unknown } | undefined)?.threadId;
  return typeof threadId === "string" ? ` of "${threadId}"` : "";
}

function outcomeOf(value: unknown): string {
  const outcome = (value as { readonly outcome?: unknown } | undefined)?.outcome;
  return typeof outcome === "string" ? outcome : "done";
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? `${error.name} ${code}` : error.name;
}

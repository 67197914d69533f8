import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import type * as OpenTelemetry from "@opentelemetry/api";
import { StoreError } from "../errors.ts";
import {
  callChannels,
  retryChannel,
  type StoreCall,
  type StoreRetry,
  subscribeLater,
} from "./observation.ts";

type Api = typeof OpenTelemetry;

const TRACER = "@scrollback/store-core";
/** One per process: a second copy of this package would create each span twice. */
const SUBSCRIBED = Symbol.for("scrollback.opentelemetry");
/** The names of backends in the semantic conventions that differ from the drivers' names. */
const systems = new Map([
  ["dynamodb", "aws.dynamodb"],
  ["postgres", "postgresql"],
]);

let isOffered = false;

/**
 * Creates spans from the tracing channels, if `@opentelemetry/api` is installed beside this package, from the first store call
 * after a tracer provider is registered. Until then a call costs nothing. The first call loads the API synchronously; later
 * calls do nothing. The environment variable `OTEL_SDK_DISABLED=true`, which disables OpenTelemetry, disables this too.
 */
export function offerSpans(): void {
  if (isOffered) return;
  isOffered = true;
  const isDisabled = process.env.OTEL_SDK_DISABLED?.toLowerCase() === "true";
  const api = isDisabled ? undefined : loadApi();
  if (!api) return;
  subscribeLater(() => {
    if (Reflect.has(globalThis, SUBSCRIBED)) return true;
    if (!hasProvider(api)) return false;
    Object.defineProperty(globalThis, SUBSCRIBED, { value: true });
    makeSpans(api);
    return true;
  });
}

/** Whether a tracer provider is registered. The API's own one passes calls on to the registered one. */
function hasProvider({ trace, ProxyTracerProvider }: Api): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(TRACER) !== undefined;
}

function loadApi(): Api | undefined {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api");
  } catch {
    // Not installed, or broken: stores work without it.
    return undefined;
  }
}

function makeSpans(api: Api): void {
  const spans = new WeakMap<StoreCall, OpenTelemetry.Span>();
  /** An error of an exporter or a sampler must not fail the store's call. */
  const quietly = (make: () => void) => {
    try {
      make();
    } catch (error) {
      api.diag.error("scrollback: a span could not be made", error);
    }
  };
  const start = (call: StoreCall): OpenTelemetry.Context => {
    const context = api.context.active();
    quietly(() => {
      const options = { kind: api.SpanKind.CLIENT, attributes: attributesOf(call) };
      spans.set(call, api.trace.getTracer(TRACER).startSpan(nameOf(call), options, context));
    });
    const span = spans.get(call);
    return span ? api.trace.setSpan(context, span) : context;
  };
  const end = (call: StoreCall) =>
    quietly(() => {
      const span = spans.get(call);
      span?.setAttributes({ "scrollback.messages": call.messages, "scrollback.bytes": call.bytes });
      if (call.error !== undefined) {
        // No description: error messages contain the thread id.
        span?.setAttribute("error.type", errorTypeOf(call.error));
        span?.setStatus({ code: api.SpanStatusCode.ERROR });
      }
      span?.end();
    });
  const retry = ({ call, error }: StoreRetry) =>
    quietly(() => {
      const attributes = { "error.type": error.code, "scrollback.retries": call.retries };
      spans.get(call)?.addEvent("retry", attributes);
    });
  const active = new ActiveContext(api);
  for (const calls of Object.values(callChannels)) {
    // Bound, not subscribed, so that spans of the backend's client become children of these spans.
    calls.start.bindStore(active, (call) => start(call));
    calls.asyncEnd.subscribe((call) => end(call as StoreCall));
  }
  retryChannel.subscribe((message) => retry(message as StoreRetry));
}

/** Runs the traced calls of a channel within a context of OpenTelemetry. */
class ActiveContext extends AsyncLocalStorage<object> {
  readonly #api: Api;

  constructor(api: Api) {
    super();
    this.#api = api;
  }

  override run<R, Args extends unknown[]>(context: object, callback: (...args: Args) => R, ...args: Args): R {
    return this.#api.context.with(context as OpenTelemetry.Context, () => callback(...args));
  }
}

function nameOf({ operation, target }: StoreCall): string {
  const place = target?.collection ?? target?.namespace;
  return place === undefined ? operation : `${operation} ${place}`;
}

function attributesOf({ operation, method, backend, target }: StoreCall): OpenTelemetry.Attributes {
  return {
    "db.system.name": systems.get(backend) ?? backend,
    "db.operation.name": operation,
    "scrollback.method": method,
    ...(target?.collection !== undefined && { "db.collection.name": target.collection }),
    ...(target?.namespace !== undefined && { "db.namespace": target.namespace }),
    ...(target?.server && { "server.address": target.server.address, "server.port": target.server.port }),
  };
}

function errorTypeOf(error: unknown): string {
  return StoreError.is(error) ? error.code : "_OTHER";
}

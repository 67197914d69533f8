import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import type * as OpenTelemetry from "@opentelemetry/api";
import {
  callChannels,
  retryChannel,
  type StoreCall,
  type StoreRetry,
  subscribeLater,
} from "./observation.ts";

type Api = typeof OpenTelemetry;

/** The name of the tracer and of the meter. */
const SCOPE = "@scrollback/store-core";
/** One of each per process: a second copy of this package would report each call twice. */
const SPANS = Symbol.for("scrollback.opentelemetry");
const DURATIONS = Symbol.for("scrollback.opentelemetry.metrics");
/** The boundaries that the semantic conventions advise for durations of databases, in seconds. */
const BOUNDARIES = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
/** The names of backends in the semantic conventions that differ from the drivers' names. */
const systems = new Map([
  ["dynamodb", "aws.dynamodb"],
  ["postgres", "postgresql"],
]);

let isOffered = false;

/** Where the API, of all versions 1, keeps what was registered. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Creates spans and durations from the tracing channels, if `@opentelemetry/api` is installed beside this package: spans from the first
 * store call after a tracer provider is registered, durations from the first after a meter provider is. Until then a call costs
 * nothing, and the API is not loaded: the first call after something was registered loads it, synchronously. The environment variable
 * `OTEL_SDK_DISABLED=true`, which disables OpenTelemetry, disables this too.
 */
export function offerTelemetry(): void {
  if (isOffered) return;
  isOffered = true;
  if (process.env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return;
  let subscribe: (() => boolean) | undefined;
  subscribeLater(() => {
    if (!Reflect.has(globalThis, REGISTRY)) return false;
    subscribe ??= subscriptionTo(loadApi());
    return subscribe();
  });
}

/** Subscribes to what is registered. Returns whether it is all. */
function subscriptionTo(api: Api | undefined): () => boolean {
  if (!api) return () => true;
  const { metrics } = api;
  const noMeter = api.createNoopMeter?.();
  let isTraced = false;
  // The API has no metrics before its version 1.3.
  let isMeasured = noMeter === undefined;
  const quietly = quietlyIn(api);
  return () => {
    quietly(() => {
      if (isTraced) return;
      const provider = api.trace.getTracerProvider();
      // The API's own provider passes calls on to the registered one.
      isTraced =
        !(provider instanceof api.ProxyTracerProvider) || provider.getDelegateTracer(SCOPE) !== undefined;
      if (isTraced) once(SPANS, () => makeSpans(api));
    });
    quietly(() => {
      if (isMeasured || metrics.getMeter(SCOPE) === noMeter) return;
      isMeasured = true;
      once(DURATIONS, () => measureDurations(api));
    });
    return isTraced && isMeasured;
  };
}

function once(mark: symbol, subscribe: () => void): void {
  if (Reflect.has(globalThis, mark)) return;
  Object.defineProperty(globalThis, mark, { value: true });
  subscribe();
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
  const quietly = quietlyIn(api);
  const start = (call: StoreCall): OpenTelemetry.Context => {
    const context = api.context.active();
    quietly(() => {
      const attributes = { ...attributesOf(call), "scrollback.method": call.method };
      const options = { kind: api.SpanKind.CLIENT, attributes };
      spans.set(call, api.trace.getTracer(SCOPE).startSpan(nameOf(call), options, context));
    });
    const span = spans.get(call);
    return span ? api.trace.setSpan(context, span) : context;
  };
  const end = (call: StoreCall) =>
    quietly(() => {
      const span = spans.get(call);
      span?.setAttributes({ "scrollback.messages": call.messages, "scrollback.bytes": call.bytes });
      if (isFailed(call)) {
        // No description: error messages contain the thread id.
        span?.setAttribute("error.type", call.outcome);
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

/** Records the duration of each call. Its attributes have few values, and never the id of a thread. */
function measureDurations(api: Api): void {
  const quietly = quietlyIn(api);
  let measured: { readonly by: object; readonly histogram: OpenTelemetry.Histogram } | undefined;
  /** Of the provider that is registered now. */
  const histogram = () => {
    const by = api.metrics.getMeterProvider();
    if (measured?.by !== by) {
      const options = {
        description: "Duration of database client operations.",
        unit: "s",
        advice: { explicitBucketBoundaries: BOUNDARIES },
      };
      measured = {
        by,
        histogram: by.getMeter(SCOPE).createHistogram("db.client.operation.duration", options),
      };
    }
    return measured.histogram;
  };
  const end = (call: StoreCall) =>
    quietly(() => {
      histogram().record(call.durationMs / 1_000, {
        ...attributesOf(call),
        ...(isFailed(call) && { "error.type": call.outcome }),
      });
    });
  for (const calls of Object.values(callChannels)) calls.asyncEnd.subscribe((call) => end(call as StoreCall));
}

/** Runs what an exporter, a sampler or a reader may break: its error must not fail the store's call. */
function quietlyIn({ diag }: Api): (report: () => void) => void {
  return (report) => {
    try {
      report();
    } catch (error) {
      diag.error("scrollback: a call could not be reported", error);
    }
  };
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

function attributesOf({ operation, backend, target }: StoreCall): OpenTelemetry.Attributes {
  return {
    "db.system.name": systems.get(backend) ?? backend,
    "db.operation.name": operation,
    ...(target?.collection !== undefined && { "db.collection.name": target.collection }),
    ...(target?.namespace !== undefined && { "db.namespace": target.namespace }),
    ...(target?.server && { "server.address": target.server.address, "server.port": target.server.port }),
  };
}

function isFailed(call: StoreCall): call is StoreCall & { outcome: string } {
  return call.outcome !== undefined && call.outcome !== "done";
}

// "#diagnostics" on Node.js, Bun and Deno. Everywhere else it is web-diagnostics.ts, of the same shape.
export { asCheck, logged } from "../store/debug-log.ts";
export { observed, recordSize, retried } from "../store/observation.ts";
export { offerTelemetry } from "../store/opentelemetry.ts";

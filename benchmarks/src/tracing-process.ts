/** Started by `tracing.ts`: appends to a thread for the time in each message of the parent, and sends the measurements. */
import { randomUUID } from "node:crypto";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { backends } from "./backends/index.ts";
import { messagesFrom } from "./messages.ts";
import type { TracingAnswer, TracingJob } from "./tracing.ts";

const MAX_MESSAGES = 1_000;

const { key, location, mode }: TracingJob = JSON.parse(process.argv[2] ?? "");
if (mode === "sdk") {
  // Batched as in an application; the exporter discards the spans.
  const exporter = {
    export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => undefined,
  };
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }),
  );
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}
const contestant = await backends[key].connects(location).Scrollback(location.url);
const thread = contestant.open(randomUUID(), MAX_MESSAGES);
let position = 0;

process.on("message", async (windowMs: number) => {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (const end = performance.now() + windowMs; performance.now() < end; ) {
    const call = thread.append(messagesFrom(position++, 1));
    const begin = performance.now();
    await call();
    times.push(performance.now() - begin);
  }
  const { user, system } = process.cpuUsage(cpu);
  const answer: TracingAnswer = { times, cpuMicros: user + system };
  process.send?.(answer);
});
process.once("disconnect", () => process.exit());

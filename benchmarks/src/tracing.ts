import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Backend, Location } from "./backend.ts";
import type { Progress } from "./calls.ts";
import { rounded, type Tracing, type TracingMode, timingOf } from "./figures.ts";
import type { LoadEffort } from "./load.ts";
import { seededRandom, shuffled } from "./random.ts";

/** The job of a writing process. */
export interface TracingJob {
  readonly key: Backend["key"];
  readonly location: Location;
  readonly mode: TracingMode;
}

/** Its reply after each time window. */
export interface TracingAnswer {
  readonly times: readonly number[];
  readonly cpuMicros: number;
}

const modes = ["off", "api", "sdk"] as const satisfies TracingMode[];

interface Writer {
  readonly mode: TracingMode;
  readonly child: ChildProcess;
  /** Rejects when the process has ended. */
  readonly ended: Promise<never>;
  readonly times: number[];
  cpuMicros: number;
}

/**
 * Measures the cost of OpenTelemetry for a commit of one message. A process looks for OpenTelemetry once, so each mode has a
 * separate process; they write in turn, one time window each.
 */
export async function measureTracing(
  { key, location }: Backend,
  effort: LoadEffort,
  { signal, report }: Progress,
): Promise<Tracing> {
  report("measuring tracing");
  const script = fileURLToPath(new URL("./tracing-process.ts", import.meta.url));
  const writers = modes.map((mode): Writer => {
    const { OTEL_SDK_DISABLED: _, ...env } = process.env;
    const job: TracingJob = { key, location, mode };
    const child = fork(script, [JSON.stringify(job)], {
      env: mode === "off" ? { ...env, OTEL_SDK_DISABLED: "true" } : env,
      signal,
    });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`a writing process ended with ${code}`);
    });
    // It also ends when all work is done.
    ended.catch(() => undefined);
    return { mode, child, ended, times: [], cpuMicros: 0 };
  });
  try {
    const random = seededRandom(1);
    for (let window = 0; window <= effort.windows; window++) {
      for (const writer of shuffled(writers, random)) {
        const { times, cpuMicros } = await ask(writer, effort.windowMs);
        // The first window warms up.
        if (window === 0) continue;
        writer.times.push(...times);
        writer.cpuMicros += cpuMicros;
      }
    }
  } finally {
    for (const { child } of writers) if (child.connected) child.disconnect();
  }
  const [off, api, sdk] = writers.map(({ times, cpuMicros }) => ({
    ...timingOf(times),
    clientCpuMicros: rounded(cpuMicros / times.length),
  }));
  if (!off || !api || !sdk) throw new Error("a mode of tracing is missing");
  return { off, api, sdk };
}

async function ask({ child, ended }: Writer, windowMs: number): Promise<TracingAnswer> {
  const answered = once(child, "message").then(([answer]) => answer as TracingAnswer);
  child.send(windowMs);
  return await Promise.race([answered, ended]);
}

import { parseArgs } from "node:util";
import type { Backend } from "./backend.ts";
import { backends } from "./backends/index.ts";
import { measureCalls } from "./calls.ts";
import { measureChats } from "./chats.ts";
import { measureColdStart } from "./cold-start.ts";
import { measureTurns } from "./langgraph.ts";
import type { Effort } from "./measure.ts";
import { backendSection, coldStartSection, scaleTable, writePages } from "./page.ts";
import {
  type BackendKey,
  type BackendResults,
  backendKeys,
  rowNames,
  type ScaleResults,
  saveColdStart,
  saveResults,
  watchMachine,
} from "./results.ts";
import { measureScale } from "./scale.ts";
import { measureWriters, type Windows } from "./writers.ts";

/** The duration and the sizes of a run. */
interface Plan {
  readonly calls: Effort;
  readonly writers: Windows;
  /** The number of threads in a listing. */
  readonly threads: number;
  readonly lengths: readonly number[];
  readonly counts: (key: BackendKey) => readonly number[];
}

/** About two minutes a backend; filling 100,000 threads takes minutes more. */
const thorough: Plan = {
  calls: { warmUpMs: 2_000, measuredMs: 12_000 },
  writers: { windowMs: 500, windows: 12 },
  threads: 10_000,
  lengths: [10, 1_000, 100_000],
  counts: (key) => [1_000, key === "redis" || /^sqlite|^libsql/.test(key) ? 100_000 : 10_000],
};

/** Less than half a minute a backend. */
const quick: Plan = {
  calls: { warmUpMs: 100, measuredMs: 700 },
  writers: { windowMs: 150, windows: 2 },
  threads: 200,
  lengths: [10, 1_000],
  counts: () => [120, 300],
};

const usage = `npm run bench [-- options]     what it does is in benchmarks/README.md
npm run scale [-- options]
  --quick         a first look; writes nothing
  --only <name>   this backend alone, in place of its last figures; may be repeated: ${backendKeys.join(", ")}
  --cold-start    a process's first import to its first stored message, alone
  --redis <url>   measure on the Redis at redis://… instead of one in a container
  --render        measure nothing; write the pages again from results.json
`;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    scale: { type: "boolean", default: false },
    "cold-start": { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    redis: { type: "string" },
    render: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const plan = options.quick ? quick : thorough;

// Otherwise the stores would find the OpenTelemetry of the repository's tests.
process.env.OTEL_SDK_DISABLED = "true";

if (options.help) process.stdout.write(usage);
else if (options.render) writePages();
else if (options["cold-start"]) await coldStart();
else await bench();

async function coldStart(): Promise<void> {
  const results = await measureColdStart(options.quick ? 3 : 21);
  process.stdout.write(`${coldStartSection(results)}\n`);
  if (options.quick) return;
  saveColdStart(results);
  writePages();
}

async function bench(): Promise<void> {
  if (!globalThis.gc) throw new Error("node must run with --expose-gc; start the benchmark by npm run bench");
  if (options.redis !== undefined) process.env.SCROLLBACK_REDIS_URL = options.redis;
  const chosen: readonly string[] = options.only ?? backendKeys;
  const unknown = chosen.find((name) => !backendKeys.some((key) => key === name));
  if (unknown !== undefined)
    throw new Error(`--only: "${unknown}" is not one of ${backendKeys.join(", ")}; take one of these`);
  for (const key of backendKeys.filter((one) => chosen.includes(one))) {
    process.stderr.write(`measuring ${key}\n`);
    const backend = await backends[key]();
    try {
      if (options.scale) await scaleOf(key, backend);
      else await compare(key, backend);
    } finally {
      await backend.close();
    }
  }
  if (!options.quick) writePages();
}

/** Measures raw, ours and the other library. Saves at once, so that a later failure loses nothing. */
async function compare(key: BackendKey, backend: Backend): Promise<void> {
  const machineUntilNow = watchMachine();
  const measured = [
    ...(await measureCalls(backend, plan.calls, plan.threads)),
    ...(await measureWriters(backend, plan.writers)),
    await measureTurns(backend, plan.calls),
    ...(key === "sqlite-normal" ? await measureChats(backend, plan.calls) : []),
  ];
  const machine = machineUntilNow();
  const { title, versions, baseline, other } = backend.definition;
  const results: BackendResults = {
    ...{ key, title, versions, baseline },
    ...(other !== undefined && { other }),
    rows: rowNames.flatMap((name) =>
      measured.filter((row) => row.name === name).map((row) => ({ ...row, machine })),
    ),
  };
  process.stdout.write(`${backendSection(results)}\n\n`);
  if (!options.quick) saveResults("backends", results);
}

async function scaleOf(key: BackendKey, backend: Backend): Promise<void> {
  const machineUntilNow = watchMachine();
  const rows = await measureScale(backend, plan.calls, plan.lengths, plan.counts(key));
  const results: ScaleResults = { key, title: backend.definition.title, machine: machineUntilNow(), rows };
  process.stdout.write(`${scaleTable([results])}\n\n`);
  if (!options.quick) saveResults("scale", results);
}

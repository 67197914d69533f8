import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { backends } from "./backends/index.ts";
import { measureCodecs } from "./codecs.ts";
import type { Effort } from "./measure.ts";
import { introduction, type Measured, section, targets } from "./report.ts";
import { run } from "./run.ts";

const CODECS = "codecs";
const parts = [...Object.keys(backends), CODECS];
const usage = `npm run bench [-- options]
  --quick         under a minute, for a first look; results.md is left as it is
  --only <name>   one part alone: ${parts.join(", ")}; results.md is left as it is
  --redis <url>   measure on the Redis at redis://… instead of one in a container
`;

const thorough: Effort = { warmUpMs: 3_000, measuredMs: 15_000, slowCalls: 10 };
const quick: Effort = { warmUpMs: 200, measuredMs: 1_000, slowCalls: 1 };

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    redis: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

// What it would find is in the repository for tests alone; nobody listens to what is measured.
process.env.OTEL_SDK_DISABLED = "true";

if (options.help) process.stdout.write(usage);
else await bench();

async function bench(): Promise<void> {
  if (!globalThis.gc) throw new Error("node must run with --expose-gc; start the benchmark by npm run bench");
  if (options.redis !== undefined) process.env.SCROLLBACK_REDIS_URL = options.redis;
  const { only } = options;
  if (only !== undefined && !parts.includes(only)) {
    throw new Error(`--only: "${only}" is none of ${parts.join(", ")}`);
  }
  const chosen = only === undefined ? Object.values(backends).flat() : (backends[only] ?? []);
  const effort = options.quick ? quick : thorough;

  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  const said: string[] = [];
  const say = (part: string) => {
    said.push(part);
    process.stdout.write(`${part}\n\n`);
  };
  const measured: Measured[] = [];
  say(introduction());
  for (const open of chosen) {
    const backend = await open();
    try {
      const report = (progress: string) => process.stderr.write(`${backend.name}: ${progress}\n`);
      const rows = await run(backend, effort, { signal: interrupted.signal, report });
      measured.push({ backend, rows });
      say(section({ backend, rows }));
    } finally {
      await backend.close();
    }
  }
  if (only === undefined || only === CODECS) {
    process.stderr.write("codecs: measuring\n");
    say(await measureCodecs(effort, interrupted.signal));
  }
  if (measured.length > 0) say(targets(measured));
  if (options.quick || only !== undefined) return;
  writeFileSync(new URL("../results.md", import.meta.url), `${said.join("\n\n")}\n`);
}

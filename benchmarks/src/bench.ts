import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { backends } from "./backends/index.ts";
import type { Effort } from "./measure.ts";
import { introduction, type Measured, section, targets } from "./report.ts";
import { run } from "./run.ts";

const usage = `npm run bench [-- options]
  --quick         under a minute, for a first look; results.md is left as it is
  --only <name>   one backend alone: ${Object.keys(backends).join(", ")}; results.md is left as it is
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

if (options.help) process.stdout.write(usage);
else await bench();

async function bench(): Promise<void> {
  if (!globalThis.gc) throw new Error("node must run with --expose-gc; start the benchmark by npm run bench");
  if (options.redis !== undefined) process.env.SCROLLBACK_REDIS_URL = options.redis;
  const chosen = options.only === undefined ? Object.values(backends).flat() : backends[options.only];
  if (!chosen) throw new Error(`--only: "${options.only}" is none of ${Object.keys(backends).join(", ")}`);

  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  const parts: string[] = [];
  const say = (part: string) => {
    parts.push(part);
    process.stdout.write(`${part}\n\n`);
  };
  const measured: Measured[] = [];
  say(introduction());
  for (const open of chosen) {
    const backend = await open();
    try {
      const report = (progress: string) => process.stderr.write(`${backend.name}: ${progress}\n`);
      const effort = options.quick ? quick : thorough;
      const rows = await run(backend, effort, { signal: interrupted.signal, report });
      measured.push({ backend, rows });
      say(section({ backend, rows }));
    } finally {
      await backend.close();
    }
  }
  say(targets(measured));
  if (options.quick || options.only !== undefined) return;
  writeFileSync(new URL("../results.md", import.meta.url), `${parts.join("\n\n")}\n`);
}

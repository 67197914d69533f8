import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Backend, type BackendKey, backendKeys } from "./backend.ts";
import { backends } from "./backends/index.ts";
import type { Progress } from "./calls.ts";
import { measureChats } from "./chats/measure.ts";
import { measureCodecs } from "./codecs.ts";
import { MARGIN, regressions } from "./compare.ts";
import {
  type ChatFigures,
  type Figures,
  type FrameworkFigures,
  loadResults,
  type Results,
  saveResults,
} from "./figures.ts";
import { measureFrameworks } from "./frameworks/measure.ts";
import { chatSection } from "./pages/chats.ts";
import { frameworkSection } from "./pages/frameworks.ts";
import { pagesOf } from "./pages/pages.ts";
import { draw } from "./pages/plots.ts";
import { codecSection, section, targetSection } from "./pages/report.ts";
import { type Plan, quick, run, runCompared, thorough } from "./run.ts";

const CODECS = "codecs";
const CHATS = "chats";
const FRAMEWORKS = "frameworks";
/** A ratio that is worse by chance on a busy machine is better in a later attempt. */
const CHECK_ATTEMPTS = 3;
const parts = [...backendKeys, CODECS, CHATS, FRAMEWORKS] as const;
const usage = `npm run bench [-- options]
  --quick         a few minutes, for a first look; writes nothing
  --check         quick, and fails where a ratio to the raw client is ${MARGIN} times worse than in the last full run
  --only <name>   this part alone, in place of its last figures; may be repeated: ${parts.join(", ")}
  --redis <url>   measure on the Redis at redis://… instead of one in a container
  --render        measure nothing; write the pages and pictures again from results.json
`;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    redis: { type: "string" },
    render: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RESULTS = fileURLToPath(new URL("../results.json", import.meta.url));

// Otherwise the stores would find the OpenTelemetry of the repository's tests. Separate processes measure the cost of tracing.
process.env.OTEL_SDK_DISABLED = "true";

if (options.help) process.stdout.write(usage);
else if (options.render) render();
else await bench();

async function bench(): Promise<void> {
  if (!globalThis.gc) throw new Error("node must run with --expose-gc; start the benchmark by npm run bench");
  if (options.redis !== undefined) process.env.SCROLLBACK_REDIS_URL = options.redis;
  const chosen: readonly string[] = options.only ?? parts;
  const unknown = chosen.find((name) => !parts.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`--only: "${unknown}" is not one of ${parts.join(", ")}`);
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  const last = loadResults(RESULTS);
  const measured: Figures[] = [];
  const failed: BackendKey[] = [];
  for (const key of backendKeys.filter((one) => chosen.includes(one))) {
    try {
      if (options.check) {
        await check(last, key, interrupted.signal);
        continue;
      }
      const figures = await measureBackend(key, run, interrupted.signal);
      measured.push(figures);
      process.stdout.write(`${section(figures)}\n\n`);
      // Saved at once, so that a later failure does not lose it.
      if (!options.quick) saveResults(RESULTS, { backends: [figures] });
    } catch (error) {
      interrupted.signal.throwIfAborted();
      process.stderr.write(`${key}: ${error instanceof Error ? error.stack : String(error)}\n`);
      failed.push(key);
    }
  }
  if (!options.check && chosen.includes(CODECS)) {
    const codecs = await measureCodecs((options.quick ? quick : thorough).calls, interrupted.signal);
    process.stdout.write(`${codecSection(codecs)}\n\n`);
    if (!options.quick) saveResults(RESULTS, { codecs });
  }
  let chats: ChatFigures | undefined;
  if (!options.check && chosen.includes(CHATS)) {
    const progress = { signal: interrupted.signal, report: reporter(CHATS) };
    chats = await measureChats((options.quick ? quick : thorough).chats, progress);
    process.stdout.write(`${chatSection(chats)}\n\n`);
    if (!options.quick) saveResults(RESULTS, { chats });
  }
  let frameworks: FrameworkFigures | undefined;
  if (!options.check && chosen.includes(FRAMEWORKS)) {
    const progress = { signal: interrupted.signal, report: reporter(FRAMEWORKS) };
    frameworks = await measureFrameworks((options.quick ? quick : thorough).frameworks, progress);
    process.stdout.write(`${frameworkSection(frameworks)}\n\n`);
    if (!options.quick) saveResults(RESULTS, { frameworks });
  }
  if (measured.length > 0 || chats || frameworks)
    process.stdout.write(`${targetSection({ backends: measured, chats, frameworks })}\n`);
  if (failed.length > 0) {
    const again = failed.map((key) => `--only ${key}`).join(" ");
    throw new Error(`not everything was measured, and no page was written; complete it by ${again}`);
  }
  if (!options.quick && !options.check) render();
}

/** @param measure the measurement to run on the backend. */
async function measureBackend<T>(key: BackendKey, measure: Measure<T>, signal: AbortSignal): Promise<T> {
  const report = reporter(key);
  const backend = await backends[key].open();
  try {
    return await measure(backend, options.quick || options.check ? quick : thorough, { signal, report });
  } finally {
    await backend.close();
  }
}

/** Prints the current step and the time since the start. */
function reporter(part: string): Progress["report"] {
  const begin = performance.now();
  return (progress) => {
    const seconds = ((performance.now() - begin) / 1_000).toFixed(0);
    process.stderr.write(`${part}, ${seconds} s: ${progress}\n`);
  };
}

type Measure<T> = (backend: Backend, plan: Plan, progress: Progress) => Promise<T>;

/** Fails for ratios that are worse than in the last full run in every attempt. */
async function check(last: Results | undefined, key: BackendKey, signal: AbortSignal): Promise<void> {
  if (!last) throw new Error(`${RESULTS} has no full run to compare with`);
  const measure = async () => regressions(last.backends, [await measureBackend(key, runCompared, signal)]);
  let found = await measure();
  for (let attempt = 1; attempt < CHECK_ATTEMPTS && found.length > 0; attempt++) {
    const again = await measure();
    found = again.filter(({ what }) => found.some((one) => one.what === what));
  }
  for (const { what, before, now } of found) {
    process.stdout.write(
      `${key}, ${what}: ${now.toFixed(2)} × raw, ${before.toFixed(2)} in the last full run\n`,
    );
  }
  if (found.length > 0) process.exitCode = 1;
  else process.stdout.write(`${key}: no ratio is ${MARGIN} times worse than in the last full run\n`);
}

function render(): void {
  const results = loadResults(RESULTS);
  const missing = results && backendKeys.filter((key) => !results.backends.some((one) => one.key === key));
  if (!results?.codecs || !results.chats || !results.frameworks || missing?.length !== 0) {
    throw new Error(`${RESULTS} has no full run; measure ${missing?.join(", ") || "all"} first`);
  }
  for (const [path, text] of pagesOf(ROOT, results)) writeFileSync(join(ROOT, path), text);
  mkdirSync(join(ROOT, "docs/generated/costs"), { recursive: true });
  for (const [name, drawn] of Object.entries(draw)) {
    writeFileSync(join(ROOT, `docs/generated/costs/${name}.svg`), drawn(results.backends));
  }
}

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openBackend } from "./backends.ts";
import { type BackendName, backendNames } from "./connect.ts";
import { type Figures, loadFigures, saveFigures } from "./figures.ts";
import { page } from "./page.ts";
import { picture } from "./picture.ts";
import { quick, run, thorough } from "./run.ts";

const usage = `npm run scale [-- options]
  --quick          a hundredth of the sizes and of the time; writes nothing unless --to says where
  --only <name>    one backend alone: ${backendNames.join(", ")}; the figures of the others stay
  --to <folder>    write scale.md and scale/ there; by default into docs/generated
  --render         measure nothing; write the page and the pictures again from the figures that are there
`;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    to: { type: "string" },
    render: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (options.help) process.stdout.write(usage);
else if (options.render) write(loadFigures(figuresPath()));
else await scale();

async function scale(): Promise<void> {
  if (!globalThis.gc) throw new Error("node must run with --expose-gc; start it by npm run scale");
  const chosen = backendNames.filter((name) => options.only === undefined || name === options.only);
  if (chosen.length === 0)
    throw new Error(`--only: "${options.only}" is not one of ${backendNames.join(", ")}`);
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  for (const name of chosen) {
    const figures = await measure(name, interrupted.signal);
    process.stdout.write(`${page([figures])}\n`);
    if (options.quick && options.to === undefined) continue;
    mkdirSync(join(folder(), "scale"), { recursive: true });
    write(saveFigures(figuresPath(), figures));
  }
}

async function measure(name: BackendName, signal: AbortSignal): Promise<Figures> {
  const begin = performance.now();
  const report = (progress: string) => {
    const seconds = ((performance.now() - begin) / 1_000).toFixed(0);
    process.stderr.write(`${name}, ${seconds} s: ${progress}\n`);
  };
  // Disposed here rather than closed at the end, so that a failed cleanup does not hide a failed measurement.
  await using backend = await openBackend(name);
  const figures = await run(backend, options.quick ? quick : thorough, { signal, report });
  report("removing what was written");
  return figures;
}

/** The page, and one picture per backend. */
function write(all: readonly Figures[]): void {
  if (all.length === 0) throw new Error(`${figuresPath()} has no figures for the page`);
  for (const figures of all) writeFileSync(join(folder(), "scale", `${figures.name}.svg`), picture(figures));
  writeFileSync(join(folder(), "scale.md"), page(all));
}

function folder(): string {
  // npm runs this in the folder of the package; INIT_CWD is the user's folder.
  if (options.to !== undefined) return resolve(process.env.INIT_CWD ?? ".", options.to);
  return fileURLToPath(new URL("../../docs/generated/", import.meta.url));
}

/** One line of JSON per backend. */
function figuresPath(): string {
  return join(folder(), "scale", "figures.jsonl");
}

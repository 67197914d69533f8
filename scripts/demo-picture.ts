/**
 * `node scripts/demo-picture.ts` runs the demo and draws its output as an animated picture with the original timing, in
 * docs/images/demo.svg. It shows each section slightly longer.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

const root = join(import.meta.dirname, "..");
const ROWS = 26;
const LINE = 19;
const MARGIN = 14;
const WIDTH = 700;
const PAUSE_MS = 900;
const LAST_PAUSE_MS = 5_000;

interface Line {
  readonly text: string;
  readonly atMs: number;
}

async function runDemo(): Promise<Line[]> {
  const lines: Line[] = [];
  const start = performance.now();
  const child = spawn(process.execPath, ["examples/demo/demo.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.map((text) => ({ text, atMs: performance.now() - start })));
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
  return lines;
}

/** Starts the picture with the first line, and pauses before each section. */
function paced(lines: readonly Line[]): Line[] {
  const isHeading = ({ text }: Line) => text.startsWith("── ");
  const first = lines.findIndex(isHeading);
  const startMs = lines[first]?.atMs ?? 0;
  let pauses = 0;
  return lines.slice(first).map((line, index) => {
    if (index > 0 && isHeading(line)) pauses += 1;
    return { text: line.text, atMs: line.atMs - startMs + pauses * PAUSE_MS };
  });
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function styleOf(text: string): string {
  if (text.startsWith("── ")) return "heading";
  if (text.startsWith(" ✓")) return "good";
  return text.startsWith(" Killed") ? "bad" : "plain";
}

function draw(lines: readonly Line[]): string {
  const totalMs = (lines.at(-1)?.atMs ?? 0) + LAST_PAUSE_MS;
  const scrollOf = (shown: number) => -Math.max(0, shown - ROWS) * LINE;
  const steps = (value: (shown: number) => number) =>
    lines
      .map(
        ({ atMs }, index) =>
          `${((atMs / totalMs) * 100).toFixed(2)}%{transform:translateY(${value(index + 1)}px)}`,
      )
      .join("");
  const texts = lines.map(
    ({ text }, index) =>
      `<text class="${styleOf(text)}" x="${MARGIN}" y="${(index + 1) * LINE}" xml:space="preserve">${escaped(text.slice(0, 80))}</text>`,
  );
  const height = ROWS * LINE + 2 * MARGIN;
  const seconds = (totalMs / 1_000).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="demo-title">
<title id="demo-title">npm run demo: an agent streams 235 messages into a store, is killed in the middle, a second process goes on, and nothing is lost or doubled</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d5dae1}
.heading{fill:#7cd4e4;font-weight:600}.good{fill:#7ee29a}.bad{fill:#ff9d94}
.paper{fill:#14181d}
.lines{animation:scroll ${seconds}s step-end infinite}.cover{animation:uncover ${seconds}s step-end infinite}
@keyframes scroll{0%{transform:translateY(0)}${steps(scrollOf)}}
@keyframes uncover{0%{transform:translateY(0)}${steps((shown) => shown * LINE)}}
@media (prefers-reduced-motion:reduce){.lines{animation:none;transform:translateY(${scrollOf(lines.length)}px)}.cover{display:none}}
</style>
<clipPath id="screen"><rect x="0" y="${MARGIN}" width="${WIDTH}" height="${ROWS * LINE}"/></clipPath>
<rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>
<g clip-path="url(#screen)"><g class="lines"><g transform="translate(0 ${MARGIN - 5})">
${texts.join("\n")}
</g><rect class="paper cover" x="0" y="${MARGIN}" width="${WIDTH}" height="${lines.length * LINE + height}"/></g></g>
</svg>
`;
}

writeFileSync(join(root, "docs/images/demo.svg"), draw(paced(await runDemo())));

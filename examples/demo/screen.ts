import { clearLine, cursorTo } from "node:readline";
import { stripVTControlCharacters, styleText } from "node:util";
import type { ChatMessage, FilePart, Part } from "@scrollback/store-core";

/** The output: `process.stdout`, or any stream. Colours and redrawing need a TTY. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
};

/** The width of the terminal, at most 80 columns; 80 without a terminal. */
const widthOf = (out: Output) => Math.min(out.columns || 80, 80);
const print = (out: Output, lines: readonly string[]) => out.write(`${lines.join("\n")}\n`);
/** Colours, on a TTY without NO_COLOR. */
const styled = (out: Output, format: Parameters<typeof styleText>[0], text: string) =>
  styleText(format, text, { stream: out as NodeJS.WriteStream });

/** An empty line, then the title with a rule up to the right edge. */
export function heading(out: Output, title: string): void {
  const width = widthOf(out);
  const text = cut(title, width - 4);
  const rule = "─".repeat(Math.max(0, width - 4 - cellsOf(text)));
  print(out, ["", `${styled(out, "dim", "──")} ${styled(out, "bold", text)} ${styled(out, "dim", rule)}`]);
}

/** Names and their values in two columns; a long value continues below its beginning. */
export function rows(out: Output, pairs: readonly (readonly [name: string, value: string])[]): void {
  const names = Math.max(...pairs.map(([name]) => cellsOf(name)));
  for (const [name, value] of pairs) {
    const lines = wrap(value, widthOf(out) - names - 3);
    print(
      out,
      beside(name, names + 2, lines, (text) => styled(out, "dim", text)),
    );
  }
}

/** A text on separate lines. */
export function paragraph(out: Output, text: string): void {
  print(
    out,
    wrap(text, widthOf(out) - 2).map((line) => ` ${line}`),
  );
}

/** The checks, each marked as passed or failed. */
export function checks(out: Output, results: readonly { holds: boolean; finding: string }[]): void {
  for (const { holds, finding } of results) {
    print(
      out,
      beside(holds ? "✓" : "✗", 2, wrap(finding, widthOf(out) - 4), (mark) =>
        styled(out, holds ? "green" : "red", mark),
      ),
    );
  }
}

/** A progress line. */
export interface Progress {
  /** `done` is the finished part of the total; `note` describes the current work. */
  update(done: number, note?: string): void;
  /** Ends the line; the next output begins below it. Call it once, also after a failure. */
  end(): void;
}

/**
 * Starts a progress line. A TTY redraws it in place with each update. Other streams get a line after each quarter of `total`,
 * and at the end.
 */
export function startProgress(out: Output, label: string, total: number): Progress {
  const width = widthOf(out) - 1; // A full last column would make some terminals wrap.
  const bar = Math.min(20, Math.floor(width / 3));
  let unwritten: string | undefined; // The text that `end` must still write; on a TTY only the line's end.
  let quarters = -1;
  return {
    update(done, note = "") {
      const count = `${String(done).padStart(String(total).length)} of ${total}`;
      if (out.isTTY) {
        const filled = Math.round((bar * Math.min(done, total)) / Math.max(total, 1));
        const start = `  ${label}  `;
        const end = cut(`  ${count}  ${note}`, Math.max(0, width - cellsOf(start) - bar));
        cursorTo(out, 0);
        out.write(
          `${start}${styled(out, "cyan", "█".repeat(filled))}${styled(out, "dim", "░".repeat(bar - filled))}${end}`,
        );
        clearLine(out, 1);
        unwritten = "";
        return;
      }
      unwritten = cut(`  ${label}  ${count}  ${note}`.trimEnd(), width);
      const reached = Math.floor((4 * done) / Math.max(total, 1));
      if (reached <= quarters) return;
      quarters = reached;
      print(out, [unwritten]);
      unwritten = undefined;
    },
    end() {
      if (unwritten !== undefined) print(out, [unwritten]);
    },
  };
}

const SPEAKER = 12;

/**
 * A conversation to read: the author on the left, the wrapped text on the right, a line for each tool call, result and
 * file. Of a message longer than `maxLines`, it shows the beginning and the number of omitted lines. It omits control
 * characters of messages, which could steer the terminal.
 */
export function transcript(
  out: Output,
  messages: readonly ChatMessage[],
  maxLines = Number.POSITIVE_INFINITY,
): void {
  const width = widthOf(out) - SPEAKER - 1;
  for (const { role, authorName, content } of messages) {
    const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const lines = parts.flatMap((part) => linesOf(part, width));
    const shown = lines.length <= maxLines ? lines : lines.slice(0, maxLines - 1);
    const more = lines.length - shown.length;
    const rest = more === 0 ? [] : [styled(out, "dim", `… ${more} more lines`)];
    const format = ({ system: "magenta", user: "green", assistant: "cyan", tool: "dim" } as const)[role];
    const speaker = cut(authorName ?? role, SPEAKER - 2);
    const body = role === "tool" ? shown.map((line) => styled(out, "dim", line)) : shown;
    print(
      out,
      beside(speaker, SPEAKER, [...body, ...rest], (text) => styled(out, format, text)),
    );
  }
}

function linesOf(part: Part, width: number): string[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return wrap(part.text, width);
    case "file":
      return [cut(fileLine(part), width)];
    case "tool-call":
      return [cut(`→ ${part.toolName} ${JSON.stringify(part.input)}`, width)];
    case "tool-result": {
      const output = part.output as { value?: unknown } | undefined;
      const value = output?.value ?? output;
      return [cut(`← ${part.toolName} ${typeof value === "string" ? value : JSON.stringify(value)}`, width)];
    }
    default:
      return [cut(`[${part.type}]`, width)];
  }
}

function fileLine({ data, mediaType }: FilePart): string {
  const kind = mediaType.startsWith("image") ? "image" : mediaType;
  if (data instanceof URL) return `[${kind} ${data.href}]`;
  return data instanceof Uint8Array ? `[${kind} ${formatBytes(data.byteLength)}]` : `[${kind}]`;
}

/** A size with its unit, in steps of 1,000: `"512 B"`, `"3.1 KB"`, `"2.0 MB"`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 999_950 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `name` in a separate column, two spaces from the edge, `lines` to the right of it. */
function beside(
  name: string,
  column: number,
  lines: readonly string[],
  style: (text: string) => string,
): string[] {
  const gap = " ".repeat(Math.max(0, column - cellsOf(name)));
  return lines.map((line, index) =>
    ` ${index === 0 ? style(name) + gap : " ".repeat(column)}${line}`.trimEnd(),
  );
}

/**
 * Text in lines of at most `width` columns, broken between words where possible, and never inside a grapheme. Keeps line
 * breaks and indentation.
 */
export function wrap(text: string, width: number): string[] {
  return printable(text)
    .split("\n")
    .flatMap((line) => wrapLine(line, width));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = "";
  let used = 0;
  const turn = () => {
    lines.push(current.trimEnd());
    current = "";
    used = 0;
  };
  for (const word of line.split(/(?<= )(?! )/)) {
    if (current.trim() !== "" && used + cellsOf(word.trimEnd()) > width) turn();
    for (const { segment } of graphemes.segment(word)) {
      const cells = cellsOf(segment);
      if (used + cells > width) {
        if (segment === " ") continue;
        turn();
      }
      current += segment;
      used += cells;
    }
  }
  turn();
  return lines;
}

/** `text` on one line of at most `width` columns; a longer text ends in an ellipsis. */
function cut(text: string, width: number): string {
  const line = printable(text).replaceAll("\n", " ");
  if (cellsOf(line) <= width) return line;
  let kept = "";
  let used = 1;
  for (const { segment } of graphemes.segment(line)) {
    used += cellsOf(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…`;
}

function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r\n|\u2028|\u2029/g, "\n")
    .replaceAll("\t", "  ")
    .replace(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/gu, "");
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const wide =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u;

/** The number of columns that a terminal needs for `text`. */
export function cellsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let cells = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (/^[\p{M}\p{Cf}\p{Cc}]*$/u.test(segment)) continue;
    cells += wide.test(segment) ? 2 : 1;
  }
  return cells;
}

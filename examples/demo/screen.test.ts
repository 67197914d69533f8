import { Writable } from "node:stream";
import { WriteStream } from "node:tty";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import type { ChatMessage } from "@scrollback/store-core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { readConversation } from "./openai-jsonl.ts";
import {
  cellsOf,
  checks,
  formatBytes,
  heading,
  paragraph,
  rows,
  startProgress,
  transcript,
  wrap,
} from "./screen.ts";

/** A stream that keeps its input. With `isTTY`, colours depend on the environment as on a terminal. */
class Paper extends Writable {
  text = "";
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly getColorDepth = WriteStream.prototype.getColorDepth;
  constructor(isTTY = false, columns?: number) {
    super();
    this.isTTY = isTTY;
    this.columns = columns;
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void) {
    this.text += chunk;
    done();
  }
  get lines(): string[] {
    return this.text.split("\n");
  }
}
const paper = (columns?: number) => new Paper(false, columns);
const terminal = (columns?: number) => new Paper(true, columns);
const ESCAPE = "\u001b";

beforeEach(() => {
  vi.unstubAllEnvs();
  for (const name of [
    "FORCE_COLOR",
    "NO_COLOR",
    "NODE_DISABLE_COLORS",
    "TMUX",
    "CI",
    "COLORTERM",
    "TERM_PROGRAM",
  ]) {
    vi.stubEnv(name, undefined);
  }
  vi.stubEnv("TERM", "xterm-256color");
});

/** Writes every kind of output to one stream. */
async function everything(out: Paper) {
  heading(
    out,
    "A title that is much too long for a line, 題名 and all, so that it has to end in an ellipsis 👩‍🍳👩‍🍳",
  );
  rows(out, [
    ["Kept", "40 messages"],
    ["Where the data lies", `/tmp/${"a-long-folder-name/".repeat(10)} and more words after it`],
  ]);
  paragraph(out, "A paragraph of many words ".repeat(20));
  checks(out, [
    { holds: true, finding: "what was found ".repeat(20) },
    { holds: false, finding: "x".repeat(200) },
  ]);
  const progress = startProgress(out, "Messages", 235);
  for (let done = 0; done <= 235; done += 5) progress.update(done, "a note 🥖 that is long ".repeat(5));
  progress.end();
  const messages: ChatMessage[] = [];
  for await (const message of readConversation(
    fileURLToPath(new URL("conversation.jsonl", import.meta.url)),
  )) {
    messages.push(message);
  }
  transcript(out, messages);
}

describe("width", () => {
  test.each([80, 40, 200, undefined])(
    "no line is wider than a terminal of %s columns, or than 80",
    async (columns) => {
      for (const out of [paper(columns), terminal(columns)]) {
        await everything(out);
        const drawn = out.text
          .replaceAll(`${ESCAPE}[1G`, "\n")
          .split(/[\n\r]/)
          .map((line) => cellsOf(stripVTControlCharacters(line)));
        expect(drawn.length).toBeGreaterThan(500);
        expect(Math.max(...drawn)).toBeLessThanOrEqual(Math.min(columns ?? 80, 80));
        expect(Math.max(...drawn)).toBeGreaterThan(Math.min(columns ?? 80, 80) - 3);
      }
    },
  );

  test("counts columns, not code units", () => {
    expect(["abc", "é", "e\u0301", "発酵", "👨‍👩‍👧‍👦", "🇧🇪", "❤️", "قلب", "", "\u200b"].map(cellsOf)).toEqual([
      3, 1, 1, 4, 2, 2, 2, 3, 0, 0,
    ]);
  });

  test("wraps between words, in long words between characters, never inside a character", () => {
    expect(wrap("one two  three", 8)).toEqual(["one two", "three"]);
    expect(wrap("exactly8 more", 8)).toEqual(["exactly8", "more"]);
    expect(wrap("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrap("発酵です", 5)).toEqual(["発酵", "です"]);
    expect(wrap("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👩🏽‍🍳", 4)).toEqual(["👨‍👩‍👧‍👦👨‍👩‍👧‍👦", "👩🏽‍🍳"]);
    expect(wrap("a\n\n  indented\r\nb\u2028c\td", 20)).toEqual(["a", "", "  indented", "b", "c  d"]);
  });
});

describe("colour", () => {
  test("colour on a terminal", async () => {
    const out = terminal();
    await everything(out);
    expect(out.text).toContain(`${ESCAPE}[36m`);
  });

  test("no colour and no redrawing if the stream is not a terminal", async () => {
    const out = paper();
    await everything(out);
    expect(out.text).not.toContain(ESCAPE);
    expect(out.text).not.toContain("\r");
  });

  test("no colour with NO_COLOR", () => {
    vi.stubEnv("NO_COLOR", "1");
    const out = terminal();
    heading(out, "Title");
    transcript(out, [{ role: "user", content: "Hi" }]);
    expect(out.text).not.toContain(ESCAPE);
  });
});

test("heading and rows", () => {
  const out = paper(30);
  heading(out, "Kept");
  rows(out, [
    ["Messages", "40"],
    ["Where", "in /tmp/a/b in /tmp/c/d/e"],
  ]);
  expect(out.lines).toEqual([
    "",
    `── Kept ${"─".repeat(22)}`,
    " Messages  40",
    " Where     in /tmp/a/b in",
    "           /tmp/c/d/e",
    "",
  ]);
});

test("paragraph and checks", () => {
  const out = paper(30);
  paragraph(out, "Process A was killed in the middle.");
  checks(out, [
    { holds: true, finding: "nothing was lost and nothing doubled" },
    { holds: false, finding: "something else" },
  ]);
  expect(out.lines).toEqual([
    " Process A was killed in the",
    " middle.",
    " ✓ nothing was lost and",
    "   nothing doubled",
    " ✗ something else",
    "",
  ]);
});

describe("progress", () => {
  test("without a terminal: one line per quarter, and the last state", () => {
    const out = paper();
    const progress = startProgress(out, "Messages", 100);
    for (let done = 0; done <= 60; done++) progress.update(done, `turn ${done}`);
    progress.end();
    expect(out.lines).toEqual([
      "  Messages    0 of 100  turn 0",
      "  Messages   25 of 100  turn 25",
      "  Messages   50 of 100  turn 50",
      "  Messages   60 of 100  turn 60",
      "",
    ]);
    const whole = paper();
    const all = startProgress(whole, "Messages", 8);
    for (let done = 0; done <= 8; done++) all.update(done);
    all.end();
    expect(whole.lines).toHaveLength(6);
  });

  test("on a terminal: one line, redrawn, kept at the end", () => {
    vi.stubEnv("NO_COLOR", "1");
    const out = terminal();
    const progress = startProgress(out, "Messages", 10);
    progress.update(5, "half");
    progress.update(10, "whole");
    progress.end();
    const line = (text: string) => `${ESCAPE}[1G${text}${ESCAPE}[0K`;
    expect(out.text).toBe(
      `${line(`  Messages  ${"█".repeat(10)}${"░".repeat(10)}   5 of 10  half`)}${line(
        `  Messages  ${"█".repeat(20)}  10 of 10  whole`,
      )}\n`,
    );
  });
});

describe("transcript", () => {
  test("the role, wrapped text, and a line for each call, result and file", () => {
    const out = paper(44);
    const call = { toolCallId: "a", toolName: "stock" };
    transcript(out, [
      { role: "user", authorName: "Mira", content: "How much butter do we have left for Sunday?" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { type: "tool-call", ...call, input: { item: "butter-84", unit: "kilograms" } },
        ],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", ...call, output: { type: "json", value: { kg: 18 } } }],
      },
      { role: "assistant", content: "18 kg\n- salted: 0" },
      {
        role: "user",
        authorName: "Someone with a long name",
        content: [
          { type: "file", data: new Uint8Array(3_100), mediaType: "image/png" },
          { type: "file", data: new URL("https://example.com/a.png"), mediaType: "image" },
          { type: "file", data: "aGk=", mediaType: "text/plain" },
        ],
      },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "a\nb" } }] },
    ]);
    expect(out.lines).toEqual([
      " Mira        How much butter do we have left",
      "             for Sunday?",
      " assistant   Let me look.",
      '             → stock {"item":"butter-84","u…',
      ' tool        ← stock {"kg":18}',
      " assistant   18 kg",
      "             - salted: 0",
      " Someone w…  [image 3.1 KB]",
      "             [image https://example.com/a.p…",
      "             [text/plain]",
      " tool        ← stock a b",
      "",
    ]);
  });

  test("a long message is cut to maxLines with the number of further lines", () => {
    const out = paper();
    const message: ChatMessage = { role: "user", content: "1\n2\n3\n4\n5" };
    transcript(out, [message], 3);
    transcript(out, [message], 5);
    expect(out.lines.map((line) => line.trim().replace(/^user +/, ""))).toEqual([
      "1",
      "2",
      "… 3 more lines",
      "1",
      "2",
      "3",
      "4",
      "5",
      "",
    ]);
  });

  test("a message cannot control the terminal", () => {
    const out = paper();
    const nasty = `${ESCAPE}[2J${ESCAPE}]0;title\u0007 a\u0008\u009b31m\u202eb\u0000`;
    const call = { type: "tool-call", toolCallId: "a", toolName: nasty, input: nasty } as const;
    transcript(out, [
      { role: "assistant", authorName: nasty, content: [{ type: "text", text: nasty }, call] },
    ]);
    expect(out.text.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\u202e/u);
    expect(out.lines[0]).toBe("  ab          ab");
  });
});

test("sizes", () => {
  expect([0, 999, 1_000, 3_149, 999_949, 999_950, 2_000_000].map(formatBytes)).toEqual([
    "0 B",
    "999 B",
    "1.0 KB",
    "3.1 KB",
    "999.9 KB",
    "1.0 MB",
    "2.0 MB",
  ]);
});

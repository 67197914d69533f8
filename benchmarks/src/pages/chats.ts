import type { ChatFigures, ChatRow, DeltaFigures, TabsRow } from "../figures.ts";
import { machineText } from "./machine.ts";
import { type Column, inDigits, ratioText, table, timingText } from "./table.ts";

const contestants = ["raw", "Scrollback", "Mastra"] as const;
const titles = { raw: "tables", Scrollback: "Scrollback", Mastra: "Mastra" } as const;

/** All measurements of chats, for the report. */
export function chatSection(figures: ChatFigures): string {
  const { machine, versions } = figures;
  return `## Chats

${[...versions, machineText(machine)].map((line) => `- ${line}`).join("\n")}

${chatTables(figures)}`;
}

function chatTables({ rows, deltas, tabs }: ChatFigures): string {
  return `Milliseconds per call (95th percentile in parentheses), processor time of the process in microseconds, and requests of Scrollback. A turn is
four writes: the question, two drafts of the answer, and the whole answer, each turn in another chat. "tables" is hand-written: a table of
chats with an index, a table of messages, and a transaction per write. It has no runs, revisions or operation ids. Mastra's memory is
\`saveMessages\` and \`listThreads\`; its lists have no newest message.

${callTable(rows)}

Processor time of the server for an answer that is streamed as fast as the model generates it, and read to its end: by \`createChatHandler\`,
which stores it on SQLite and keeps it for late listeners, and by \`streamText\` with \`toUIMessageStreamResponse\`, which stores nothing. "A delta"
is the difference between the two answers divided by the difference in deltas.

${deltaTable(deltas)}

${tabs[0]?.tabs} tabs concurrently add one message each to a chat, through one server. The AI SDK's recipe reads a JSON file, adds the message and
writes the file.

${tabTable(tabs)}`;
}

function callTable(rows: readonly ChatRow[]): string {
  return table<ChatRow>(
    [
      { title: "", align: "left", text: ({ operation }) => operation },
      { title: "chats", align: "right", text: ({ chats }) => chats.toLocaleString("en") },
      {
        title: "requests",
        align: "right",
        text: ({ results: { Scrollback } }) => String(Number(Scrollback?.requests?.toFixed(2))),
      },
      ...contestants.map(
        (name): Column<ChatRow> => ({
          title: `${titles[name]}, ms`,
          align: "right",
          text: ({ results }) => timingText(results[name]),
        }),
      ),
      ...contestants.map(
        (name): Column<ChatRow> => ({
          title: `${titles[name]}, µs`,
          align: "right",
          text: ({ results }) => results[name]?.cpuMicros.toFixed(0) ?? "-",
        }),
      ),
    ],
    rows,
  );
}

function deltaTable({ short, long, plain, handler }: DeltaFigures): string {
  const micros = ["shortCpuMicros", "longCpuMicros", "deltaCpuMicros"] as const;
  const rowTitles = {
    shortCpuMicros: `an answer of ${short} deltas`,
    longCpuMicros: `an answer of ${long} deltas`,
    deltaCpuMicros: "a delta",
  } as const;
  return table<(typeof micros)[number]>(
    [
      { title: "µs", align: "left", text: (key) => rowTitles[key] },
      { title: "streamText", align: "right", text: (key) => inDigits(plain[key], 2) },
      { title: "createChatHandler", align: "right", text: (key) => inDigits(handler[key], 2) },
      { title: "× streamText", align: "right", text: (key) => ratioText(handler[key], plain[key]) },
    ],
    micros,
  );
}

function tabTable(rows: readonly TabsRow[]): string {
  return table<TabsRow>(
    [
      { title: "", align: "left", text: ({ name }) => name },
      { title: "kept", align: "right", text: keptText },
      { title: "until all are answered, ms", align: "right", text: ({ medianMs }) => inDigits(medianMs, 2) },
    ],
    rows,
  );
}

function keptText({ fewestKept, mostKept, tabs }: TabsRow): string {
  return `${fewestKept === mostKept ? fewestKept : `${fewestKept} to ${mostKept}`} of ${tabs}`;
}

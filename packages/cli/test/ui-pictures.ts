/**
 * `node --conditions=scrollback-source packages/cli/test/ui-pictures.ts [folder]` takes the pictures of the inspector of the
 * documentation; default: docs/images.
 */
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { ChatStore } from "@scrollback/chats";
import { startBrowser } from "../../../test/browser.ts";
import { ScrollbackSaver } from "../../bridge-langgraph/src/index.ts";
import { configOf, putValues } from "../../bridge-langgraph/test/checkpoints.ts";
import { startUi } from "./inspector.ts";
import { Folder } from "./run.ts";

const [, , target = join(import.meta.dirname, "../../../docs/images")] = process.argv;
const TITLES = [
  "Packing list for two weeks by train",
  "Words for the opening speech",
  "Recipe: lentils with lemon",
  "A quiz about rivers",
  "Which bicycle lock",
  "Letter to the landlord",
];

/** A picture of some stripes, as PNG in base64. */
function stripes(width: number, height: number): string {
  const pixels = Array.from({ length: width }, (_, x) => (x % 60 < 30 ? [70, 130, 180] : [200, 215, 230]));
  const row = Buffer.from([0, ...pixels.flat()]);
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const rows = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const parts = [
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat(parts).toString("base64");
}

interface Message {
  readonly id: string;
  readonly role: "user" | "assistant" | "tool";
  readonly content: string | readonly object[];
}

using folder = new Folder();
await using stores = folder.stores();
const chats = new ChatStore<Message>({ stores });
const mine = chats.of("ada@example.com");
for (const [index, title] of TITLES.entries())
  await mine.create({
    id: `chat-${index + 1}`,
    title,
    messages: [{ id: "q", role: "user", content: `About: ${title}` }],
  });
const photo = { type: "file", mediaType: "image/png", filename: "map.png", data: stripes(240, 160) };
await mine.create({
  id: "trams",
  title: "Trams to the harbour",
  pinned: true,
  messages: [
    {
      id: "q1",
      role: "user",
      content: [{ type: "text", text: "Which tram goes to the harbour? This is where I am." }, photo],
    },
    {
      id: "a1",
      role: "assistant",
      content: [
        {
          type: "reasoning",
          text: "The picture shows the old town. The timetable has the lines that stop there.",
        },
        {
          type: "tool-call",
          toolCallId: "call-1",
          toolName: "timetable",
          input: { from: "Old town", to: "Harbour" },
        },
      ],
    },
    {
      id: "t1",
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "call-1",
          toolName: "timetable",
          output: { line: 4, every: "10 min" },
        },
      ],
    },
    { id: "a2", role: "assistant", content: "Line 3." },
  ],
});
await mine.edit(
  "trams",
  "a2",
  { id: "a3", role: "assistant", content: "Line 4 goes straight to the harbour, every ten minutes." },
  { keepSibling: true },
);
await chats.flush();
const saver = new ScrollbackSaver({ stores });
let config = configOf("trip-planner");
for (let step = 0; step < 4; step++) {
  const id = `1f0c0000-0000-6000-8000-00000000000${step}`;
  config = await putValues(saver, config, id, {
    messages: "Plan a weekend. ".repeat(20 + step),
    budget: step * 120,
  });
  await saver.putWrites(config, [["budget", 120]], `task-${step}`);
}

await using ui = await startUi(folder.url());
await using browser = await startBrowser();
const { page } = await browser.visit(ui.url, {
  viewport: { width: 1_180, height: 760 },
  reducedMotion: "reduce",
  colorScheme: "light",
});
const option = (name: string) => page.getByRole("option").filter({ hasText: name }).first();
await page.getByRole("button", { name: "Chats" }).click();
await option("ada@example.com").click();
await option("Trams to the harbour").click();
await page.getByText("Line 4 goes straight").last().waitFor();
await page.getByRole("button", { name: "Verify" }).click();
await page.getByText("Verified: readable").waitFor();
await page.getByRole("button", { name: "Oldest" }).click();
await page.getByRole("img").waitFor();
await page.screenshot({ path: join(target, "inspector-chat.png") });
await page.emulateMedia({ colorScheme: "dark" });
await page.getByRole("button", { name: "Threads" }).click();
await page.getByRole("searchbox").fill("trip");
await option("LangGraph thread").click();
await page.getByRole("link", { name: "checkpoints of the graph" }).click();
await page.getByText("pending writes").last().waitFor();
await page.screenshot({ path: join(target, "inspector-checkpoints.png") });

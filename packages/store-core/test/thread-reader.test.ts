import { expect, test } from "vitest";
import { type ChatMessage, createMemoryStores, type StoreFactory } from "../src/index.ts";
import { ThreadReader } from "../src/internal.ts";

const message = (content: string, role: "user" | "system" = "user") => ({ role, content });
const numbered = (count: number, name = "old") =>
  Array.from({ length: count }, (_, index) => message(`${name} ${index + 1}`));

async function stores(count = 1_700): Promise<StoreFactory> {
  const made = createMemoryStores();
  await made.open("from").addMessages([message("rules", "system")]);
  await made.open("from").addMessages(numbered(count - 1));
  return made;
}

/** Changes of a thread that readers notice. */
const changes: [string, (made: StoreFactory) => Promise<unknown>][] = [
  ["deleted", (made) => made.deleteThread("from")],
  [
    "deleted and begun again",
    async (made) => {
      await made.deleteThread("from");
      await made.open("from").addMessages(numbered(2_000, "new"));
    },
  ],
  ["cleared", (made) => made.open("from").clear()],
  ["emptied, the metadata kept", (made) => made.open("from").commit({ drop: "all" })],
  ["replaced by nothing", (made) => made.open("from").replaceMessages([])],
  ["replaced by as many", (made) => made.open("from").replaceMessages(numbered(1_700, "new"))],
  ["replaced by more", (made) => made.open("from").replaceMessages(numbered(4_000, "new"))],
  ["cut and refilled", (made) => made.open("from").commit({ drop: 1_300, append: numbered(1_300, "new") })],
  ["cut", (made) => made.open("from").commit({ drop: 1_699 })],
  ["edited at its end", (made) => made.open("from").commit({ drop: 1, append: numbered(1, "new") })],
  ...[10, 600, 1_600].map((maxMessages): [string, (made: StoreFactory) => Promise<unknown>] => [
    `trimmed to ${maxMessages}`,
    (made) => made.open("from", { maxMessages }).addMessages(numbered(1, "new")),
  ]),
];

async function read(made: StoreFactory, meanwhile: () => Promise<unknown>): Promise<ChatMessage[]> {
  const reader = await ThreadReader.begin(made.open("from"));
  const messages: ChatMessage[] = [];
  let changed: Promise<unknown> | undefined;
  for await (const page of reader.pages()) {
    messages.push(...page.map((entry) => entry.message));
    changed ??= meanwhile();
    await changed;
  }
  return messages;
}

test.each(changes)("a thread that is %s while it is read fails with CONFLICT", async (_, change) => {
  const made = await stores();
  await expect(read(made, () => change(made))).rejects.toMatchObject({ code: "CONFLICT" });
});

test("messages that are added while a thread is read are not read", async () => {
  const made = await stores();
  const messages = await read(made, () => made.open("from").addMessages(numbered(900, "new")));
  expect(messages).toEqual([message("rules", "system"), ...numbered(1_699)]);
});

test("a thread that was trimmed before is read as it is", async () => {
  const made = await stores();
  await made.open("from", { maxMessages: 1_200 }).addMessages(numbered(1, "new"));
  const messages = await read(made, () => made.open("from").addMessages(numbered(2, "later")));
  expect(messages).toHaveLength(1_200);
  expect(messages.slice(0, 2)).toEqual([message("rules", "system"), message("old 502")]);
});

test.each([1, 600, 1_650])("changes after the last message to read are not noticed: %i", async (end) => {
  const made = await stores();
  const reader = await ThreadReader.begin(made.open("from"), { end });
  let count = 0;
  for await (const page of reader.pages()) {
    count += page.length;
    await made.open("from").commit({ drop: 20, append: numbered(20, "new") });
  }
  expect(count).toBe(end);
});

test.each([0, 1])("a thread of %i messages is one page", async (count) => {
  const made = createMemoryStores();
  await made.open("from").commit({ append: numbered(count), metadata: 1 });
  expect(await read(made, () => made.deleteThread("from"))).toEqual(numbered(count));
});

test("a stopped copy goes on if the source was changed after the messages that were copied", async () => {
  const made = await stores();
  const onProgress = () => {
    throw new Error("stopped");
  };
  await expect(made.copyThread("from", "to", { onProgress })).rejects.toThrow("stopped");
  await made.open("from").commit({ drop: 1_000, append: numbered(3, "new") });
  await made.copyThread("from", "to");
  expect(await made.open("to").listMessages()).toEqual(await made.open("from").listMessages());
});

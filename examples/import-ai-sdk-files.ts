/** Makes a chat of each file of a folder, for one user: `node import-ai-sdk-files.ts .chats ada`. See docs/how-to/migrate.md. */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { uiMessages, upgradeUIMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import { openStores } from "@scrollback/store-core";
import type { UIMessage } from "ai";

/** The time of a message of AI SDK 4, which `upgradeUIMessages` keeps in its metadata. */
function timeOf({ metadata }: UIMessage): number | undefined {
  const time = Date.parse(String((Object(metadata) as { createdAt?: unknown }).createdAt));
  return Number.isNaN(time) ? undefined : time;
}

async function importFile(file: string): Promise<void> {
  const id = basename(file, ".json");
  const { mtimeMs } = await stat(file);
  const time = Math.floor(mtimeMs);
  const given = upgradeUIMessages(JSON.parse(await readFile(file, "utf8")));
  const messages = given.filter(({ role }) => role !== "system");
  const entries = messages.map((message, index) => ({
    message: { ...message, id: message.id || `message-${index}` }, // the SDK's default id of an answer is ""
    ...{ createdAt: timeOf(message) ?? time, updatedAt: timeOf(message) ?? time, status: "complete" },
  }));
  const [first = time, last = time] = [entries.at(0)?.createdAt, entries.at(-1)?.createdAt];
  const asked = messages.find(({ role }) => role === "user");
  const question = asked?.parts.find((part) => part.type === "text");
  const title = [...(question?.text.trim() ?? "")].slice(0, 80).join("");
  const chat = {
    ...{ createdAt: first, updatedAt: last, activeAt: last },
    ...{ pinned: false, archived: false, labels: {}, metadata: {} },
    ...(title && { title, titleBy: "text", titleOf: asked?.id }),
  };
  await mine.import(
    { type: "scrollback.chat", version: 2, chat, entries },
    { id, operationId: `file-${id}` },
  );
}

const [folder = ".chats", userId = "ada"] = process.argv.slice(2);
await using stores = await openStores("sqlite:chats.db");
await using chats = new ChatStore<UIMessage>({ stores, ...uiMessages() });
const mine = chats.of(userId); // files have no owner
for (const name of (await readdir(folder)).filter((file) => file.endsWith(".json"))) {
  await importFile(join(folder, name)).catch((cause) => {
    throw new Error(`${name} was not imported: ${cause.message}`, { cause });
  });
}
for (const { id, title, activeAt } of (await mine.list()).chats) {
  console.log(id, title, new Date(activeAt).toISOString());
}

import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { crc32, inflateSync } from "node:zlib";
import { type ChatMessage, chatMessageTraits, type FilePart } from "@scrollback/store-core";
import { modelMessageSchema } from "ai";
import { beforeAll, describe, expect, test } from "vitest";
import { agentBatches, readConversation } from "./openai-jsonl.ts";

const shipped = fileURLToPath(new URL("conversation.jsonl", import.meta.url));
const filesOf = ({ content }: ChatMessage): FilePart[] =>
  typeof content === "string" ? [] : content.filter((part) => part.type === "file");

/** The chunks of a PNG, each verified by its checksum, and its decompressed pixels. */
function decodePng(data: Uint8Array) {
  const bytes = Buffer.from(data);
  expect(bytes.subarray(0, 8)).toEqual(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    expect(bytes.readUInt32BE(at + 8 + length)).toBe(crc32(bytes.subarray(at + 4, at + 8 + length)));
    chunks.set(bytes.toString("latin1", at + 4, at + 8), bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const [head, pixels] = [chunks.get("IHDR") ?? Buffer.alloc(8), inflateSync(chunks.get("IDAT") ?? "")];
  return { width: head.readUInt32BE(0), height: head.readUInt32BE(4), pixels, ended: chunks.has("IEND") };
}

describe("the shipped conversation", () => {
  const messages: ChatMessage[] = [];
  beforeAll(async () => {
    for await (const message of readConversation(shipped)) messages.push(message);
  });

  test("imports whole, a message for each line", async () => {
    const lines = (await readFile(shipped, "utf8")).trimEnd().split("\n");
    expect(messages).toHaveLength(lines.length);
    expect(messages.map(({ role }) => role)).toEqual(lines.map((line) => JSON.parse(line).role));
    expect(Object.groupBy(messages, ({ role }) => role)).toMatchObject({
      system: { length: 1 },
      user: { length: 59 },
      assistant: { length: 98 },
      tool: { length: 77 },
    });
    expect((await stat(shipped)).size).toBeLessThan(250_000);
  });

  test("answers every tool call, by the same name, before the next turn", () => {
    const named = (type: "tool-call" | "tool-result") =>
      messages.flatMap(({ content }) =>
        (typeof content === "string" ? [] : content).flatMap((part) =>
          part.type === type ? [`${part.toolCallId} ${part.toolName}`] : [],
        ),
      );
    const calls = named("tool-call");
    expect(new Set(calls).size).toBe(77);
    expect(named("tool-result").toSorted()).toEqual(calls.toSorted());
  });

  test("contains valid PNG pictures", () => {
    const files = messages.flatMap(filesOf);
    expect(files).toHaveLength(9);
    for (const { data, mediaType } of files) {
      expect(mediaType).toBe("image/png");
      const png = decodePng(data as Uint8Array);
      expect(png.ended).toBe(true);
      expect(png.pixels.length).toBeGreaterThan((png.width * png.height) / 8);
    }
    expect(files.some(({ data }) => (data as Uint8Array).length > 4_000)).toBe(true);
  });

  test("is accepted by the AI SDK", () => {
    for (const message of messages) {
      const { success, error } = modelMessageSchema.safeParse(message);
      expect(success, `${JSON.stringify(message)}: ${error}`).toBe(true);
    }
  });

  test("has the features of a long conversation", () => {
    const text = JSON.stringify(messages);
    for (const piece of [
      "👨‍👩‍👧‍👦",
      "🏳️‍🌈",
      "🇧🇪",
      "السلام عليكم",
      "すみません",
      "Доброго дня",
      "```python",
      "\u2028",
    ]) {
      expect(text).toContain(piece);
    }
    expect(Math.max(...messages.map((message) => chatMessageTraits.toolCalls(message).length))).toBe(5);
    expect(messages.filter(({ metadata }) => metadata !== undefined).map(({ metadata }) => metadata)).toEqual(
      [{ refusal: true }, { refusal: true }],
    );
    const speakers = new Set(messages.flatMap(({ authorName }) => authorName ?? []));
    expect([...speakers]).toEqual(["Mira", "Tomas", "Elodie", "Yuki", "Nadia", "Bilal"]);
    const contents = messages.map(({ content }) => JSON.stringify(content));
    expect(new Set(contents).size).toBeGreaterThan(contents.length * 0.95);
  });

  test("is split into batches that keep calls and results together", async () => {
    const batches: ChatMessage[][] = [];
    for await (const batch of agentBatches(readConversation(shipped))) batches.push(batch);
    expect(batches.flat()).toStrictEqual(messages);
    expect(batches).toHaveLength(114);
    expect(batches[0]?.map(({ role }) => role)).toEqual(["system", "user"]);
    for (const batch of batches) {
      const calls = batch.flatMap(chatMessageTraits.toolCalls);
      expect(batch.flatMap(chatMessageTraits.toolResults).toSorted()).toEqual(calls.toSorted());
    }
  });
});

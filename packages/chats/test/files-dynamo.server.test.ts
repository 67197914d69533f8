import { createDynamoStores } from "@scrollback/store-dynamo";
import { expect, test } from "vitest";
import { blobsIn } from "../../../conformance-tests/test/fixtures/blobs-in.ts";
import { type Sent, watchedTable } from "../../store-dynamo/test/capacity.ts";
import { type BlobStorage, ChatStore } from "../src/index.ts";

// These figures are also in docs/reference/store-dynamo.md: a change of one is a change of both.

const { sent, table } = watchedTable();

/** The requests of an operation, and its units, without those for the chat's entries in lists, which are told beside it. */
async function costOf(operation: () => Promise<unknown>) {
  sent.length = 0;
  await operation();
  const isRead = ({ action }: Sent) => ["Query", "GetItem", "BatchGetItem"].includes(action);
  const unitsOf = (some: readonly Sent[]) => some.reduce((sum, { units }) => sum + units, 0);
  return {
    requests: sent.length,
    written: unitsOf(sent.filter((one) => !isRead(one))),
    read: unitsOf(sent.filter(isRead)),
  };
}

const photo = `data:image/png;base64,${Buffer.alloc(10_000_000, 7).toString("base64")}`;
const message = (id: string) => ({ id, role: "user" as const, photo });

async function setUp(owner: string, blobs?: BlobStorage) {
  const stores = createDynamoStores({ client: table().raw, tableName: table().tableName });
  const chats = new ChatStore<{ id: string; role: "user"; photo?: string }>({
    stores,
    ...(blobs && { blobs }),
  });
  const mine = chats.of(owner);
  await mine.create({ id: "c", messages: [{ id: "q", role: "user" }] });
  await chats.flush();
  return { mine, chats };
}

const near = (expected: number, by: number) => ({
  asymmetricMatch: (value: unknown) => Math.abs(Number(value) - expected) <= by,
  toString: () => `within ${by} of ${expected}`,
});

test("a file of 10 MB in the table takes 13,000 write units, and to read it takes 3,300 read units in 10 requests", async () => {
  const { mine, chats } = await setUp("ada");
  expect(await costOf(() => mine.append("c", [message("m")]))).toEqual({
    requests: near(12, 1),
    written: near(13_077, 20),
    read: near(3, 2),
  });
  await chats.flush();
  // Another message with the same file.
  expect(await costOf(() => mine.append("c", [message("n")]))).toEqual({
    requests: near(8, 2),
    written: near(15, 6),
    read: near(4, 2),
  });
  await chats.flush();
  const { files: [file = ""] = [] } =
    (await mine.read("c", { files: "references", limit: 1 }))?.entries[0] ?? {};
  for (const range of [{}, { start: 0, end: 10 }])
    expect(await costOf(() => mine.readFile(file, range))).toEqual({
      requests: 12,
      written: 0,
      read: near(3_264, 10),
    });
  expect(await costOf(() => mine.read("c", { files: "references" }))).toEqual({
    requests: 1,
    written: 0,
    read: 1,
  });
  expect(await costOf(() => mine.delete("c"))).toEqual({
    requests: near(38, 4),
    written: near(13_085, 30),
    read: near(3_280, 20),
  });
  const deletionOf = async (id: string, photo: boolean) => {
    await mine.create({ id, messages: [photo ? message("m") : { id: "m", role: "user" }] });
    await chats.flush();
    return (await costOf(() => mine.delete(id))).requests;
  };
  const plain = await deletionOf("plain", false);
  expect((await deletionOf("photo", true)) - plain).toEqual(near(24, 2));
}, 120_000);

test("a file in another storage takes 9 write units", async () => {
  const contents = new Map<string, Uint8Array>();
  const { mine, chats } = await setUp("bob", blobsIn(contents));
  // With what is written after the call.
  const costOfAppend = (one: { id: string; role: "user"; photo?: string }) =>
    costOf(async () => {
      await mine.append("c", [one]);
      await chats.flush();
    });
  const plain = await costOfAppend({ id: "m0", role: "user" });
  const { written, requests } = await costOfAppend(message("m"));
  expect({ requests: requests - plain.requests, written: written - plain.written }).toEqual({
    requests: 6,
    written: 9,
  });
  expect(contents.size).toBe(1);
}, 60_000);

import { randomBytes, randomFillSync } from "node:crypto";
import type { Change } from "@scrollback/store-core";
import { expect } from "vitest";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { carrying, numbered, textsIn, user } from "../messages/messages.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;
const METADATA_LIMIT = 256 * KIB;
/** A test does not reach a limit from this number of messages on. */
const MANY_MESSAGES = 100_000;

/** Random text of the given size, so that a backend cannot compress it much. */
const noise = (bytes: number) =>
  randomBytes(Math.ceil((bytes * 3) / 4))
    .toString("base64")
    .slice(0, bytes);

/** A message whose text has exactly the given number of bytes. */
function messageOf(bytes: number) {
  return user("x".repeat(bytes - JSON.stringify(user("")).length));
}

export const size: Clause = {
  title: "Size",
  declare(test) {
    test("the limits in the capabilities allow messages of 3 MiB, and several of them in a commit", async (backend) => {
      const { maxMessageBytes, maxCommitBytes } = backend.driver.capabilities;
      expect(maxMessageBytes).toBeGreaterThanOrEqual(4 * MIB + KIB);
      expect(maxCommitBytes).toBeGreaterThanOrEqual(2 * maxMessageBytes);
    });

    test("messages of any size up to 3 MiB are stored", async (backend) => {
      const store = backend.store();
      const sizes = [63, 64, 65, 255, 256, 300, 399, 400, 401, 512, 1_024, 2_047, 3_072].map(
        (kib) => kib * KIB,
      );
      const texts = sizes.map((bytes) => `${noise(bytes - 1)}!`);
      for (const text of texts) {
        await store.addMessages([user(text)]);
        expect((await textsIn(store, 1))[0] === text, `a message of ${text.length} bytes`).toBe(true);
      }
      const all = await textsIn(store);
      expect(all.map((text, index) => text === texts[index])).toEqual(texts.map(() => true));
    });

    test("messages of 3 MiB: bytes, and text of four-byte characters", async (backend) => {
      const store = backend.store();
      const bytes = randomFillSync(new Uint8Array(3 * MIB));
      await store.addMessages([carrying(bytes)]);
      const text = "💬𝔘𐍈🜁".repeat((3 * MIB) / 16);
      expect(Buffer.byteLength(text)).toBe(3 * MIB);
      await store.addMessages([user(text)]);
      const [first, second] = await store.listMessages();
      expect(Buffer.from(first?.metadata as Uint8Array).equals(bytes)).toBe(true);
      expect(second?.content === text).toBe(true);
    });

    test("a batch of 3 MiB messages is one commit", async (backend) => {
      const store = backend.store();
      const others = backend.otherStores().open(store.threadId);
      const texts = Array.from({ length: 3 }, () => noise(3 * MIB));
      const { maxCommitBytes } = backend.driver.capabilities;
      const fit = texts.slice(0, Math.floor(maxCommitBytes / (3 * MIB + KIB)));
      const revision = await store.addMessages([user("first"), ...fit.map(user), user("last")]);
      const read = await others.read();
      expect(read.revision).toBe(revision);
      const got = read.entries.map(({ message }) => message.content);
      expect(got.length).toBe(fit.length + 2);
      expect([got[0], got.at(-1), fit.every((text, index) => got[index + 1] === text)]).toEqual([
        "first",
        "last",
        true,
      ]);
      expect(await textsIn(store, 1)).toEqual(["last"]);
      expect(await store.popMessage()).toStrictEqual(user("last"));
      await store.commit({ drop: fit.length });
      expect(await textsIn(store)).toEqual(["first"]);
    });

    test("large messages are trimmed and cleared as small ones are", async (backend) => {
      const store = backend.store({ maxMessages: 2, trimming: "exact" });
      const texts = Array.from({ length: 4 }, () => noise(600 * KIB));
      for (const text of texts) await store.addMessages([user(text)]);
      expect((await textsIn(store)).map((text) => texts.indexOf(text))).toEqual([2, 3]);
      await store.clear();
      expect(await store.listMessages()).toEqual([]);
      expect((await backend.harness.raw.dump(store.threadId)).length).toBeLessThan(100 * KIB);
    });

    test("a commit over a limit fails with TOO_LARGE before any I/O, and nothing is written", async (backend) => {
      const { maxMessageBytes, maxCommitBytes, maxCommitMessages } = backend.driver.capabilities;
      const store = backend.store();
      await store.commit({ append: numbered(1), metadata: "kept" });
      const before = await store.read();
      const tooLarge = async (change: Change, name: string) => {
        const error = await rejection(store.commit(change), "TOO_LARGE");
        expect(error.message).toContain(name);
        expect(error.message.length, "no content in the message").toBeLessThan(500);
      };
      const largest = messageOf(maxMessageBytes);
      const batch = Array.from({ length: Math.floor(maxCommitBytes / maxMessageBytes) }, () => largest);
      const rest = maxCommitBytes - batch.length * maxMessageBytes;
      await backend.withoutRequests(async () => {
        await tooLarge(
          { append: [user("good"), messageOf(maxMessageBytes + 1)], metadata: "new" },
          "messages[1]",
        );
        await tooLarge({ append: [...batch, messageOf(Math.min(maxMessageBytes, rest + 100))] }, "commit");
        await tooLarge({ append: [user("good")], metadata: "x".repeat(METADATA_LIMIT) }, "metadata");
        if (maxCommitMessages < MANY_MESSAGES) {
          await tooLarge({ append: numbered(maxCommitMessages + 1) }, `${maxCommitMessages} fit`);
        }
      });
      expect(await store.read()).toStrictEqual(before);
      await store.addMessages([user("after")]);
      expect(await textsIn(store)).toEqual(["message 1", "after"]);
    });

    test("a message and metadata at the limit are stored", async (backend) => {
      const store = backend.store();
      const message = messageOf(backend.driver.capabilities.maxMessageBytes);
      // Its text has two quotes.
      const metadata = "x".repeat(METADATA_LIMIT - 2);
      await store.commit({ append: [message], metadata });
      const page = await store.read();
      expect(page.entries[0]?.message.content === message.content).toBe(true);
      expect(page.metadata === metadata).toBe(true);
      const { maxCommitMessages } = backend.driver.capabilities;
      if (maxCommitMessages >= MANY_MESSAGES) return;
      const full = backend.store();
      await full.commit({ append: numbered(maxCommitMessages), metadata: "with them" });
      const many = await full.read();
      expect(many.metadata).toBe("with them");
      expect(many.entries).toHaveLength(maxCommitMessages);
      await full.addMessages([user("after")]);
      expect((await full.listMessages({ limit: 2 })).map(({ content }) => content)).toEqual([
        `message ${maxCommitMessages}`,
        "after",
      ]);
    });

    test("a commit sends as many requests as the capabilities say, with any content", async (backend) => {
      backend.requireRequests();
      const store = backend.store();
      await store.addMessages(numbered(2));
      for (const [what, change] of Object.entries<Change>({
        "one message": { append: [user("a")] },
        "twenty messages": { append: numbered(20) },
        "drop, add and metadata": { drop: 3, append: numbered(2), metadata: { title: "a" } },
        "metadata alone": { metadata: 1 },
        "a drop": { drop: 2 },
      })) {
        await backend.expectRequests("commit", what, () => store.commit(change));
      }
    });

    test("the cost of an append is independent of thread length", async (backend) => {
      backend.requireRequests();
      for (const length of [10, 5_000]) {
        const store = backend.store();
        for (let from = 0; from < length; from += 1_000) {
          await store.addMessages(numbered(Math.min(1_000, length - from)));
        }
        for (let round = 0; round < 3; round++) {
          const add = () => store.addMessages([user("a")]);
          await backend.expectRequests("commit", `one message more to ${length}`, add);
        }
      }
    });

    test("the cost of trimming is independent of the number of kept messages", async (backend) => {
      backend.requireRequests();
      const commits = 130;
      const least = commits * backend.driver.capabilities.roundTrips.commit;
      const look = "look at `commit` of the driver";
      for (const kept of [10, 1_000]) {
        const store = backend.store({ maxMessages: kept });
        await store.addMessages(numbered(kept));
        const requests =
          (await backend.requestsOf(async () => {
            for (let round = 0; round < commits; round++) await store.addMessages([user(`${round}`)]);
          })) ?? 0;
        const what = `requests of ${commits} commits that keep ${kept} messages`;
        expect(requests, `${what}; look at requestCount of the harness`).toBeGreaterThanOrEqual(least);
        // A thread of documents writes a page at about every 32nd commit.
        expect(requests, `${what}; ${look}`).toBeLessThanOrEqual(least * 1.2 + 10);
      }
    });
  },
};

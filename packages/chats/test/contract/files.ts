import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { OwnedChats } from "../../src/list/owned-chats.ts";
import type { ContractMessage, ContractTest } from "./contract.ts";
import { dialogue, fileOf, message, textsIn } from "./values.ts";

async function fileIdIn(mine: OwnedChats<ContractMessage>, chatId: string): Promise<string> {
  const page = await mine.read(chatId, { files: "references" });
  return page?.entries.flatMap(({ files = [] }) => files)[0] ?? "";
}

export const files: readonly ContractTest[] = [
  {
    title:
      "files: one of 10 MB is stored apart, once, read whole and in part, and erased with its last message",
    async run({ chats, mine }) {
      const bytes = randomBytes(10_000_000);
      const photo = message("q", "user", `data:image/png;base64,${bytes.toString("base64")}`);
      await mine.create({ id: "c", messages: [photo, message("a", "assistant")] });
      const entry = (await mine.read("c"))?.entries[0];
      // A comparison by Vitest would print megabytes.
      expect(entry?.message.content === photo.content).toBe(true);
      const page = await mine.read("c", { files: "references" });
      expect(JSON.stringify(page).length).toBeLessThan(2_000);
      const fileId = await fileIdIn(mine, "c");
      const part = await mine.readFile(fileId, { start: 5_000_000, end: 5_000_100 });
      expect(part).toEqual({
        content: new Uint8Array(bytes.subarray(5_000_000, 5_000_100)),
        size: bytes.length,
      });
      expect(await chats.of("another").readFile(fileId)).toBeUndefined();
      await mine.fork("c", { id: "fork" });
      await mine.delete("c");
      expect((await mine.read("fork"))?.entries[0]?.message.content === photo.content).toBe(true);
      await mine.truncate("fork", { behind: null });
      expect(await mine.readFile(fileId)).toBeUndefined();
    },
  },
  {
    title: "files: of those who store and erase one content at once, each has it or none",
    async run({ mine, connect, owner }) {
      const [one, other] = [connect({ fileBytes: 8 }).of(owner), connect({ fileBytes: 8 }).of(owner)];
      const photo = (id: string) => message(id, "user", fileOf("photo"));
      await one.create({ id: "a", messages: dialogue("q") });
      for (let round = 0; round < 5; round++) {
        await other.create({ id: "b", messages: [photo("p")] });
        await Promise.all([
          one.append("a", [photo(`p${round}`)]),
          other.delete("b"),
          other.create({ id: `c${round}`, messages: [photo("p")] }),
        ]);
        expect(await textsIn(mine, "a")).toEqual(["q", fileOf("photo")]);
        expect(await textsIn(mine, `c${round}`)).toEqual([fileOf("photo")]);
        const fileId = await fileIdIn(mine, "a");
        await Promise.all([one.truncate("a", { behind: "q" }), other.delete(`c${round}`)]);
        expect(await mine.readFile(fileId)).toBeUndefined();
      }
    },
  },
];

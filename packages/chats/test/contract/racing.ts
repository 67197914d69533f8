import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, message, textsIn } from "./values.ts";

export const racing: readonly ContractTest[] = [
  {
    title: "writers: concurrent appends, renames and edits of one chat by many clients lose nothing",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      const clients = Array.from({ length: 8 }, () => connect().of(owner));
      await Promise.all(
        clients.flatMap((client, index) => [
          client.append("c", [message(`m${index}`)]),
          client.update("c", { labels: { [`l${index}`]: true } }),
          client.upsert("c", message("q", "user", `q by ${index}`)),
        ]),
      );
      const page = await mine.read("c");
      expect(page?.entries.map((entry) => entry.message.id).slice(0, 2)).toEqual(["q", "a"]);
      const added = page?.entries.slice(2).map((entry) => entry.message.id);
      expect(added?.toSorted()).toEqual(clients.map((_, index) => `m${index}`));
      expect(Object.keys(page?.chat.labels ?? {})).toHaveLength(clients.length);
      expect(page?.chat).toMatchObject({ messageCount: 10, lastMessage: { id: added?.at(-1) } });
      for (const client of clients) await client.list();
      expect((await mine.list()).chats).toMatchObject([
        { id: "c", messageCount: 10, labels: page?.chat.labels },
      ]);
      expect(await textsIn(clients[0] ?? mine, "c")).toEqual(await textsIn(mine, "c"));
    },
  },
];

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, onTestFinished, test } from "vitest";
import { ChatStore } from "../../src/index.ts";
import { message } from "../contract/values.ts";

test.each(["delete", "deleteAll"] as const)(
  "%s of an expired chat erases its siblings too",
  async (method) => {
    const folder = mkdtempSync(join(tmpdir(), "scrollback-siblings-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const stores = createSqliteStores({ url: `sqlite:${join(folder, "chats.db")}`, ttlMs: 100 });
    const chats = new ChatStore({ stores });
    const mine = chats.of("ada");
    await mine.create({ id: "c", messages: [message("secret")] });
    await mine.edit("c", "secret", message("other"), { keepSibling: true });
    await chats.flush();
    await sleep(150);
    await (method === "delete" ? mine.delete("c") : mine.deleteAll());
    await chats.flush();
    await stores.close();
    for (const file of readdirSync(folder))
      expect(readFileSync(join(folder, file)).includes("secret"), file).toBe(false);
  },
);

import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { SessionService } from "../src/index.ts";

test("a deleted session leaves no thread of its own", async () => {
  const stores = createMemoryStores();
  const service = new SessionService({ stores });
  const key = { appName: "app", userId: "ada", sessionId: "secret-1" };
  await service.createSession({ ...key, title: "A title" });
  const own = async () => {
    const found: string[] = [];
    for await (const { threadId } of stores.iterateThreads()) {
      if (threadId.includes(key.sessionId)) found.push(threadId);
    }
    return found;
  };
  expect(await own()).toHaveLength(1);
  await service.deleteSession(key);
  expect(await own()).toEqual([]);
  expect(await service.getSession(key)).toBeUndefined();
  await service.createSession({ ...key, title: "Another" });
  expect((await service.getSession(key))?.title).toBe("Another");
  await service.flush();
});

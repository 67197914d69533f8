import { createPostgresStores } from "@scrollback/store-postgres";
import { expect, test } from "vitest";
import { newNamespace, serverUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { ChatStore } from "../src/index.ts";
import { message, textsOf } from "./contract/values.ts";

test("with listen, changes of another process are yielded long before everyMs, each one", async () => {
  const options = { url: await serverUrl("PostgreSQL"), schema: newNamespace() };
  await using theirs = createPostgresStores(options);
  await using stores = createPostgresStores({ ...options, listen: true });
  await stores.setup();
  const writer = new ChatStore<ReturnType<typeof message>>({ stores: theirs }).of("ada");
  const follower = new ChatStore<ReturnType<typeof message>>({ stores }).of("ada");
  await writer.create({ id: "c" });
  const texts: string[] = [];
  const following = (async () => {
    for await (const change of follower.follow("c", { everyMs: 3_600_000 })) {
      if (change.type !== "changed") return;
      texts.splice(change.index, Number.POSITIVE_INFINITY, ...textsOf(change.entries));
    }
  })();
  const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
  for (const id of ids) await writer.append("c", [message(id)]);
  await expect.poll(() => texts).toEqual(ids);
  await writer.delete("c");
  await following;
});

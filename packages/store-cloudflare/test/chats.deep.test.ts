import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { makeSchema } from "../../store-postgres/test/schema.ts";
import { Workerd } from "./workerd.ts";

test("chats work in a Worker on memory, Redis and PostgreSQL", async () => {
  const [redis, postgres] = await Promise.all([sharedServer("redis"), sharedServer("postgres")]);
  await using schema = await makeSchema(postgres.url, () => "");
  const workerd = await Workerd.start();
  try {
    const data = JSON.stringify({
      redis: { url: redis.url, keyPrefix: schema.schema },
      postgres: { url: postgres.url, schema: schema.schema },
    });
    const reply = await fetch(`http://127.0.0.1:${workerd.port}/chat/${encodeURIComponent(data)}/`);
    const outcome = { stored: "Hello", statuses: [200, 200], roles: ["user", "assistant"], last: "Line 8." };
    expect(await reply.json()).toEqual({ memory: outcome, redis: outcome, postgres: outcome });
  } finally {
    await workerd.stop();
  }
});

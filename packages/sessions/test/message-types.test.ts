import { createMemoryStores, type MessageTraits } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { SessionService } from "../src/index.ts";
import { event, setting } from "./contract/values.ts";

/** A message in the format of a chat's front end. */
interface UIMessage {
  id: string;
  role: "system" | "user" | "assistant";
  parts: { type: string; text?: string }[];
}

const traits: MessageTraits<UIMessage> = {
  role: (message) => message.role,
  toolCalls: (message) => message.parts.filter(({ type }) => type === "call").map(({ type }) => type),
  toolResults: (message) => message.parts.filter(({ type }) => type === "result").map(({ type }) => type),
  check: (message) => (Array.isArray((message as UIMessage).parts) ? undefined : "parts must be a list"),
};

test("sessions are kept in stores of any message type, beside their threads", async () => {
  const stores = createMemoryStores<UIMessage>({ traits });
  const sessions = new SessionService({ stores });
  const hello: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "Hello" }] };
  await stores.open("chat").addMessages([hello]);
  const key = { appName: "app", userId: "ada", sessionId: "s" };
  const session = await sessions.createSession({ ...key, state: { "app:a": 1 } });
  await sessions.appendEvent({ session, event: event({ id: "one" }) });
  await sessions.appendEvent({ session, event: setting({ "user:u": 1 }) });
  const read = await sessions.getSession(key);
  expect(read?.events).toHaveLength(2);
  expect(read?.state).toEqual({ "app:a": 1, "user:u": 1 });
  expect((await sessions.listSessions({ appName: "app" })).sessions).toHaveLength(1);
  expect(await stores.open("chat").listMessages()).toEqual([hello]);
  await stores.close();
  await expect(sessions.getSession(key)).rejects.toMatchObject({ code: "CLOSED" });
});

/** A chat on a store: a message that is answered, a stop, an error of a callback, lists and reads. Returns what they gave. */
import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";
import { simulateReadableStream, type UIMessage, type UIMessageChunk } from "ai";

export async function chatOn(stores: StoreFactory): Promise<unknown> {
  await stores.setup();
  const store = stores.open("thread");
  await store.addMessages([{ role: "user", content: "Hello" }]);
  const [stored] = await store.listMessages();
  const chats = new ChatStore<UIMessage>({ stores, ...uiMessages() });
  const chunks: UIMessageChunk[] = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Line 8." },
    { type: "text-end", id: "t" },
  ];
  const handler = createChatHandler<UIMessage>({
    chats,
    generate: () => simulateReadableStream({ chunks }),
    title: async () => {
      throw new Error("no title");
    },
    onError() {
      throw new Error("reported");
    },
  });
  const send = async (method: string, path: string, body?: unknown) => {
    const request = new Request(`http://localhost/api${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await handler.fetch(request, { owner: "ada" });
    return { status: response.status, text: await response.text() };
  };
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Which tram?" }] };
  const answered = await send("POST", "/chat", { id: "rome", message });
  const stopped = await send("POST", "/chat/rome/stop");
  await handler.close({ wait: true });
  await chats.flush();
  const { messages } = JSON.parse((await send("GET", "/chats/rome")).text);
  const listed = JSON.parse((await send("GET", "/chats")).text).chats;
  await stores.close();
  return {
    stored: stored?.content,
    statuses: [answered.status, stopped.status],
    roles: messages.map(({ role }: UIMessage) => role),
    last: listed[0]?.lastMessage?.text,
  };
}

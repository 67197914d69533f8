import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ChatStore, type ChatStoreOptions } from "@scrollback/chats";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import type { UIMessage } from "ai";
import { type ChatHandlerOptions, createChatHandler, nodeListener, uiMessages } from "../src/index.ts";
import { scriptedModel, scriptedTools, type ToolLog } from "./scripted-model.ts";

export type ServeOptions = Partial<Omit<ChatHandlerOptions<UIMessage>, "chats">> & {
  stores?: StoreFactory;
  store?: Partial<ChatStoreOptions<UIMessage>>;
};

/** A handler behind a real `node:http` server, with scripted tools and model where no others are given. */
export async function serve({ stores = createMemoryStores(), store = {}, ...options }: ServeOptions = {}) {
  const log: ToolLog = { deleted: [] };
  const tools = options.tools ?? scriptedTools(log);
  const errors: unknown[] = [];
  const chats = new ChatStore<UIMessage>({
    stores,
    ...uiMessages({ tools }),
    beatMs: 50,
    leaseMs: 2_000,
    ...store,
  });
  const isMade = options.agent !== undefined || options.generate !== undefined || options.model !== undefined;
  const handler = createChatHandler<UIMessage>({
    chats,
    tools,
    ...(!isMade && { model: scriptedModel() }),
    onError: (error) => void errors.push(error),
    ...options,
  });
  const server = createServer(
    nodeListener((request) => handler.fetch(request, { owner: request.headers.get("x-user") ?? "ada" })),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stored = async (chatId: string, owner = "ada") => {
    const page = await chats.of(owner).read(chatId);
    return page?.entries.map(({ message }) => message);
  };
  const get = async (path: string) => await (await fetch(`${url}/api${path}`)).json();
  const send = async (method: string, path: string, body?: unknown) =>
    await fetch(`${url}/api${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    ...{ url, chats, mine: chats.of("ada"), handler, log, errors, stored, get, send },
    async [Symbol.asyncDispose]() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await chats.flush();
    },
  };
}

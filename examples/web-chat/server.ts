/** `node server.ts [url]`: the web chat on 127.0.0.1. The URL is that of the store; default: a SQLite file in .web-chat. */
import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createChatHandler, nodeListener, uiMessages } from "@scrollback/bridge-ai-sdk";
import { redisStreams } from "@scrollback/bridge-ai-sdk/redis";
import { ChatStore } from "@scrollback/chats";
import { openStores } from "@scrollback/store-core";
import { Redis } from "ioredis";
import sirv from "sirv";
import { chooseModel, INSTRUCTIONS } from "./model.ts";
import { newCookie, ownerOf } from "./owner.ts";
import { type ChatMessage, prepareFiles, tools } from "./tools.ts";

const { PORT = "3000", REDIS_URL, ALLOW_IMPORT } = process.env;
const [, , url = "sqlite:.web-chat/chats.db"] = process.argv;

await mkdir(".web-chat", { recursive: true });
await prepareFiles();
const stores = await openStores(url);
await stores.setup();
const chats = new ChatStore<ChatMessage>({ stores, ...uiMessages<ChatMessage>({ tools }) });
const { model, titleModel, name } = chooseModel();
const redis = REDIS_URL === undefined ? undefined : new Redis(REDIS_URL);
const streams = redis && redisStreams({ redis });
const chat = createChatHandler<ChatMessage>({
  ...(streams && { streams }),
  ...{ chats, model, tools, instructions: INSTRUCTIONS, title: { model: titleModel } },
  allowImport: ALLOW_IMPORT === "1",
  onError: (error, { chatId }) => console.error(`chat ${chatId}:`, error),
});

async function answer(request: Request): Promise<Response> {
  const owner = ownerOf(request.headers.get("cookie") ?? undefined);
  if (owner === undefined) return Response.json({ error: "UNAUTHENTICATED" }, { status: 401 });
  // The cookie belongs to this site only; so do its requests.
  if (!["same-origin", "none", null].includes(request.headers.get("sec-fetch-site")))
    return Response.json({ error: "FORBIDDEN" }, { status: 403 });
  if (request.method === "DELETE" && new URL(request.url).pathname === "/api/chats") {
    await chats.of(owner).deleteAll();
    return new Response(undefined, { status: 204 });
  }
  return chat.fetch(request, { owner });
}

const api = nodeListener(answer);
const page = sirv(join(import.meta.dirname, "dist"), {
  ...{ single: true, etag: true },
  setHeaders: (response, path) =>
    response.setHeader(
      "cache-control",
      path.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-cache",
    ),
});
const server = createServer((request, response) => {
  if (request.url?.startsWith("/api/")) return api(request, response);
  if (ownerOf(request.headers.cookie) === undefined) response.setHeader("set-cookie", newCookie());
  response.setHeader("content-security-policy", "default-src 'self'; img-src 'self' data:");
  page(request, response, () => void response.writeHead(404).end());
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : PORT;
  console.log(`Web chat with ${name}: http://127.0.0.1:${port}`);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    server.close();
    await chat.close();
    await chats.flush();
    server.closeAllConnections();
    await stores.close();
    redis?.disconnect();
  });
}

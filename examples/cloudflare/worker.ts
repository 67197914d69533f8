/**
 * A chat for `useChat` on Cloudflare: one Durable Object for each user, with the user's chats in its SQLite. The handler runs in the
 * object, so an answer goes on when its tab is closed, and another tab can continue it.
 */
import { DurableObject } from "cloudflare:workers";
import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import { createDurableObjectStores } from "@scrollback/store-cloudflare";
import { simulateReadableStream, type UIMessage, type UIMessageChunk } from "ai";

interface Env {
  readonly CHATS: { getByName(name: string): Pick<UserChats, "answer"> };
  /** The page. */
  readonly ASSETS: { fetch(request: Request): Promise<Response> };
}

export class UserChats extends DurableObject<Env> {
  readonly #chats = new ChatStore<UIMessage>({
    stores: createDurableObjectStores({ client: this.ctx.storage }),
    ...uiMessages(),
  });
  // Yours: `model` instead of `generate`.
  readonly #handler = createChatHandler({ chats: this.#chats, generate: scripted, onError: console.error });

  answer(request: Request, owner: string): Promise<Response> {
    return this.#handler.fetch(request, { owner });
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (!new URL(request.url).pathname.startsWith("/api/")) return await env.ASSETS.fetch(request);
    const owner = ownerOf(request);
    if (owner === undefined) return new Response(null, { status: 401 });
    return await env.CHATS.getByName(owner).answer(request, owner);
  },
};

/** Yours: the signed-in user, from your authentication. This lets everybody in as anybody. */
function ownerOf(request: Request): string | undefined {
  return request.headers.get("x-user") ?? undefined;
}

/** An offline replacement for a model: repeats the question, a word at a time. */
function scripted({ messages }: { readonly messages: readonly UIMessage[] }): ReadableStream<UIMessageChunk> {
  const asked = (messages.at(-1)?.parts ?? [])
    .map((part) => (part.type === "text" ? part.text : ""))
    .join(" ");
  const words = `You have asked: ${asked}`.split(/(?<= )/);
  return simulateReadableStream<UIMessageChunk>({
    chunkDelayInMs: 100,
    chunks: [
      { type: "text-start", id: "text" },
      ...words.map((delta) => ({ type: "text-delta", id: "text", delta }) as const),
      { type: "text-end", id: "text" },
    ],
  });
}

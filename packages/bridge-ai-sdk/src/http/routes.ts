import type { Chat, ChatEntry, ChatPatch, ListChats, OwnedChats } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { checkOptions, invalid, isObject, isString } from "@scrollback/store-core/driver";
import { checkValue, isBoolean } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import { withFileUrls } from "../convert/file-references.ts";
import { fileResponse } from "./file-response.ts";
import { importedChat } from "./imported-chat.ts";
import { readJson } from "./read-json.ts";

/** An export contains a whole chat. */
const MAX_IMPORT_BYTES = 64 * 1_024 * 1_024;
/** The messages of a page. */
const DEFAULT_MESSAGES = 100;
const MAX_MESSAGES = 1_000;

/** A request of an owner. */
export interface OwnerCall<UI extends UIMessage> {
  readonly mine: OwnedChats<UI>;
  /** Set as soon as it is known, for the report of an error. Empty if the request names no chat. */
  chatId: string;
  /** Settles when the answer that the request began, and its title, are saved. */
  ended?: Promise<unknown>;
}

/** What the handler does with answers. */
export interface ChatActions<UI extends UIMessage> {
  post(call: OwnerCall<UI>, request: Request): Promise<Response>;
  resume(call: OwnerCall<UI>): Promise<Response>;
  stop(call: OwnerCall<UI>, runId: string | undefined): Promise<Response>;
  /** Makes the chat's title again. With `replaceUser` also one that the user has given. */
  title(call: OwnerCall<UI>, replaceUser: boolean): Promise<Response>;
}

/** The dependencies of the routes. */
export interface RouteContext<UI extends UIMessage> {
  readonly actions: ChatActions<UI>;
  readonly maxMessageBytes: number;
  readonly isImportAllowed: boolean;
  /** Returns the message to show for an answer that will not continue. */
  closeAnswer(message: UI): UI;
  /** The metadata in the form that is stored. @throws StoreError `INVALID_ARGUMENT` if the schema refuses it. */
  checkMetadata(metadata: unknown): Promise<unknown>;
}

interface RouteCall<UI extends UIMessage> extends RouteContext<UI> {
  readonly request: Request;
  readonly call: OwnerCall<UI>;
  readonly mine: OwnedChats<UI>;
  /** From the path; empty if the path has none. */
  readonly chatId: string;
  /** As `chatId`; of the route of files the id of the file. */
  readonly messageId: string;
  readonly query: URLSearchParams;
  /** The JSON of the request. */
  body(maxBytes?: number): Promise<Record<string, unknown>>;
}

/** The known parameters of a route's query; by default none. */
const queries: Readonly<Record<string, readonly string[]>> = {
  "GET /chats": ["limit", "cursor", "archived", "pinned", "labels"],
  "GET /chats/:id": ["limit", "before"],
  "GET /chats/:id/files/:messageId": ["type"],
  "DELETE /chats/:id/messages/:messageId": ["with", "after", "operationId", "expectedRevision"],
  "DELETE /chats/:id/siblings/:messageId": ["after", "operationId", "expectedRevision"],
  "POST /chats/import": ["id", "operationId"],
};

type Route = <UI extends UIMessage>(call: RouteCall<UI>) => Promise<Response>;

/** By the method and the path behind the base path. */
export const routes: Readonly<Record<string, Route>> = {
  "POST /chat": ({ actions, call, request }) => actions.post(call, request),
  "GET /chat/:id/stream": ({ actions, call }) => actions.resume(call),
  async "POST /chat/:id/stop"({ actions, call, body }) {
    const options = await body();
    checkOptions("request", options, { runId: isString });
    const { runId } = options;
    return await actions.stop(call, runId as string | undefined);
  },
  async "GET /chats"({ mine, query }) {
    return Response.json(await mine.list(listOptions(query)));
  },
  async "GET /chats/:id"({ mine, chatId, query, closeAnswer }) {
    const before = query.get("before");
    const limit = limitOf(query) ?? DEFAULT_MESSAGES;
    if (limit > MAX_MESSAGES) invalid("request: limit must be at most 1,000");
    const page = await mine.read(chatId, {
      limit,
      files: "references",
      ...(before !== null && { before }),
    });
    if (!page) throw missing();
    const { chat, older } = page;
    const shown = page.entries.map((entry) => shownEntry(entry, chat, closeAnswer));
    const entries = await withFileUrls(mine, chatId, shown);
    const statuses = Object.fromEntries(entries.map((entry) => [entry.message.id, statusOf(entry)]));
    const messages = entries.map(({ message }) => message);
    return Response.json({ chat, messages, statuses, ...(older !== undefined && { older }) });
  },
  async "PATCH /chats/:id"({ mine, chatId, body }) {
    const { operationId, expectedRevision, ...patch } = await body();
    return Response.json(
      await mine.update(chatId, patch as ChatPatch, defined({ operationId, expectedRevision })),
    );
  },
  async "DELETE /chats/:id"({ mine, chatId }) {
    await mine.delete(chatId);
    return new Response(null, { status: 204 });
  },
  async "POST /chats/:id/truncate"({ mine, chatId, body }) {
    const { from, behind, ...options } = await body();
    const cut = defined({ from, behind }) as object as { from: string };
    return Response.json(await mine.truncate(chatId, cut, options));
  },
  async "POST /chats/:id/title"({ actions, call, body }) {
    const options = await body();
    checkOptions("request", options, { replaceUser: isBoolean });
    return await actions.title(call, options.replaceUser === true);
  },
  async "GET /chats/:id/messages/:messageId"({ mine, chatId, messageId, closeAnswer }) {
    const found = await mine.readMessage(chatId, messageId, { files: "references" });
    if (!found) throw new StoreError("NOT_FOUND", "request: the chat or the message does not exist");
    const shown = shownEntry(found.entry, found.chat, closeAnswer);
    return Response.json((await withFileUrls(mine, chatId, [shown]))[0]);
  },
  async "PATCH /chats/:id/messages/:messageId"({ mine, chatId, messageId, body, checkMetadata }) {
    const { operationId, expectedRevision, ...patch } = await body();
    checkOptions("request", patch, { metadata: () => undefined });
    const metadata = await checkMetadata(patch.metadata);
    const options = defined({ operationId, expectedRevision });
    return Response.json(await mine.updateMessage(chatId, messageId, { metadata }, options));
  },
  async "DELETE /chats/:id/messages/:messageId"({ mine, chatId, messageId, query }) {
    return Response.json(await mine.deleteMessage(chatId, messageId, Object.fromEntries(query)));
  },
  "GET /chats/:id/files/:messageId": ({ mine, messageId, query, request }) =>
    fileResponse(mine, messageId, query.get("type") ?? "", request.headers),
  async "GET /chats/:id/siblings/:messageId"({ mine, chatId, messageId }) {
    const group = await mine.siblings(chatId, messageId);
    if (!group)
      throw new StoreError("NOT_FOUND", "request: the chat, or a sibling of the message, does not exist");
    return Response.json(group);
  },
  async "DELETE /chats/:id/siblings/:messageId"({ mine, chatId, messageId, query }) {
    return Response.json(await mine.deleteSibling(chatId, messageId, Object.fromEntries(query)));
  },
  async "POST /chats/:id/switch"({ mine, chatId, body }) {
    const { messageId, ...options } = await body();
    if (messageId === undefined) invalid("request: messageId must be given");
    return Response.json(await mine.switchTo(chatId, messageId as string, options));
  },
  async "POST /chats/:id/fork"({ mine, chatId, body }) {
    return created(await mine.fork(chatId, await body()));
  },
  async "GET /chats/:id/export"({ mine, chatId }) {
    const data = await mine.export(chatId);
    if (!data) throw missing();
    return Response.json(data, { headers: { "content-disposition": `attachment; filename="chat.json"` } });
  },
  async "POST /chats/import"({ mine, query, body, isImportAllowed }) {
    if (!isImportAllowed) throw new StoreError("NOT_FOUND", "request: this server does not allow imports");
    const options = defined(Object.fromEntries(query));
    return created(await mine.import(importedChat(await body(MAX_IMPORT_BYTES)), options));
  },
};

/** The method and the pattern of each route. */
export const routeNames: readonly string[] = Object.keys(routes);

/** Serves a request by its path and method. 404 for an unknown path, 405 for an unsupported method. */
export async function routedResponse<UI extends UIMessage>(
  request: Request,
  call: OwnerCall<UI>,
  context: RouteContext<UI>,
): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  const found = routeOf(request.method, pathname);
  const route = routes[`${request.method} ${found?.pattern}`];
  if (!found || !route) {
    const allow = found ? methodsOf(found.pattern) : [];
    if (allow.length === 0) throw new StoreError("NOT_FOUND", "request: the path does not exist");
    const error = { error: "INVALID_ARGUMENT", message: "request: the path has no such method" };
    return Response.json(error, { status: 405, headers: { allow: allow.join(", ") } });
  }
  checkQuery(query, queries[`${request.method} ${found.pattern}`] ?? []);
  const { mine } = call;
  const { chatId, messageId } = found;
  call.chatId = chatId;
  return await route({
    ...context,
    ...{ request, call, mine, chatId, messageId, query },
    body: async (maxBytes = context.maxMessageBytes) => {
      const json = (await readJson(request, maxBytes)) ?? {};
      checkValue("request", "the body", isObject, json);
      return json as Record<string, unknown>;
    },
  });
}

interface FoundRoute {
  readonly pattern: string;
  readonly chatId: string;
  readonly messageId: string;
}

/** The pattern of a path, and the ids in it. A chat may have the name of a fixed path: the method distinguishes them. */
function routeOf(method: string, pathname: string): FoundRoute | undefined {
  const [, api, kind, id, action, messageId, ...rest] = pathname.split("/");
  const isEmpty = id === "" || messageId === "";
  if (api !== "api" || (kind !== "chat" && kind !== "chats") || rest.length > 0 || isEmpty) return undefined;
  const path = pathname.slice("/api".length);
  const isFixed = id === undefined || (id !== ":id" && Object.hasOwn(routes, `${method} ${path}`));
  if (isFixed) return { pattern: path, chatId: "", messageId: "" };
  const names = [kind, ":id", action, messageId === undefined ? undefined : ":messageId"];
  const pattern = `/${names.filter((name) => name !== undefined).join("/")}`;
  return { pattern, chatId: decoded(id), messageId: decoded(messageId ?? "") };
}

function methodsOf(pattern: string): string[] {
  return Object.keys(routes).flatMap((key) => (key.endsWith(` ${pattern}`) ? (key.split(" ")[0] ?? []) : []));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return invalid("request: the path must be encoded as a URI");
  }
}

/** Refuses parameters that would be ignored: unknown ones, and repetitions. */
function checkQuery(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) invalid(`request: this path takes no query parameter "${name}"`);
    if (query.getAll(name).length > 1) invalid(`request: ${name} must be given once`);
  }
}

/** NaN, which every method refuses, for a text that is not an integer. */
function limitOf(query: URLSearchParams): number | undefined {
  const limit = query.get("limit");
  if (limit === null) return undefined;
  return /^\d+$/.test(limit) ? Number(limit) : Number.NaN;
}

function listOptions(query: URLSearchParams): ListChats {
  const limit = limitOf(query);
  const cursor = query.get("cursor");
  const labels = query.get("labels");
  return {
    ...(limit !== undefined && { limit }),
    ...(cursor !== null && { cursor }),
    ...flag(query, "archived"),
    ...flag(query, "pinned"),
    ...(labels !== null && { labels: parsedLabels(labels) }),
  };
}

function flag(query: URLSearchParams, name: "archived" | "pinned"): { archived?: boolean; pinned?: boolean } {
  const value = query.get(name);
  if (value === null) return {};
  if (value !== "true" && value !== "false") invalid(`request: ${name} must be true or false`);
  return { [name]: value === "true" };
}

function parsedLabels(text: string): NonNullable<ListChats["labels"]> {
  try {
    return JSON.parse(text);
  } catch {
    return invalid("request: labels must be a JSON object");
  }
}

/** Shows the answer of a dead process as failed before anything has been written. */
function shownEntry<UI extends UIMessage>(
  entry: ChatEntry<UI>,
  { run }: Chat,
  closeAnswer: (message: UI) => UI,
): ChatEntry<UI> {
  const isLost = run?.state === "lost" && run.messageId === entry.message.id && entry.status === "partial";
  return isLost
    ? {
        ...entry,
        message: closeAnswer(entry.message),
        status: "failed",
        error: "the process that made the answer was lost",
      }
    : entry;
}

function statusOf<UI extends UIMessage>({
  message,
  ...status
}: ChatEntry<UI>): Omit<ChatEntry<UI>, "message"> {
  return status;
}

function created(chat: Chat): Response {
  return Response.json(chat, { status: 201 });
}

function missing(): StoreError {
  return new StoreError("NOT_FOUND", "request: the chat does not exist");
}

function defined(fields: Readonly<Record<string, unknown>>): Record<string, never> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
    string,
    never
  >;
}

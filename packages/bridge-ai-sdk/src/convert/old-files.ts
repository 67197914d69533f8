import { parseFileReference } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { reportOnce } from "@scrollback/store-core/internal";

/** Where a problem of a conversation is reported. */
export type ReportTarget = Parameters<typeof reportOnce>[0];

import type { ModelMessage, UIMessage } from "ai";
import { isTakenFile } from "./file-types.ts";
import { isFileUrl, isThere } from "./file-url.ts";
import type { UIPart } from "./tool-parts.ts";

type FileUIPart = Extract<UIPart, { type: "file" | "reasoning-file" }>;

/** Replaces the files of UI messages whose URL the SDK refuses, and files of users whose type the model does not take. */
export function withoutUnsendableFiles(
  messages: readonly UIMessage[],
  fileTypes: readonly string[] | undefined,
  target: ReportTarget,
): UIMessage[] {
  const isTaken = (part: FileUIPart) =>
    (part.type === "file" && part.providerReference !== undefined) || isTakenFile(part, fileTypes);
  const noteOf = (part: FileUIPart) => {
    report(target, part.url);
    return { type: "text" as const, text: noteFor(part) };
  };
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part): UIPart => {
      if (isFilePart(part))
        return isSendable(part) && (message.role !== "user" || isTaken(part)) ? part : noteOf(part);
      if (part.type !== "steering-message") return part;
      const parts = part.parts.map((one) =>
        one.type === "text" || (isSendable(one) && isTaken(one)) ? one : noteOf(one),
      );
      return { ...part, parts };
    }),
  }));
}

function isFilePart(part: UIPart): part is FileUIPart {
  return part.type === "file" || part.type === "reasoning-file";
}

function isSendable(part: FileUIPart): boolean {
  if (part.type === "file" && part.providerReference !== undefined) return true;
  return isFileUrl(part.url) || parseFileReference(part.url) !== undefined;
}

/** A part of a model message that may have the URL of a file. */
type AnyPart = { readonly type: string } & Readonly<Record<string, unknown>>;

/**
 * Replaces the files of model messages that are not there any more: the SDK, or the provider, would fail to load them at each later
 * turn. Only of users' messages and tools' results, which the SDK loads.
 *
 * @param ms the time in milliseconds within which a server must respond.
 */
export async function withoutGoneFiles(
  messages: readonly ModelMessage[],
  ms: number,
  target: ReportTarget,
): Promise<ModelMessage[]> {
  const urls = new Map<string, URL>();
  mapFiles(messages, (part, url) => {
    urls.set(url.href, url);
    return part;
  });
  const gone = new Set<string>();
  await Promise.all(
    [...urls].map(async ([href, url]) => {
      if (await isThere(url, ms)) return;
      gone.add(href);
      report(target, href);
    }),
  );
  if (gone.size === 0) return [...messages];
  return mapFiles(messages, (part, url) =>
    gone.has(url.href) ? { type: "text", text: noteFor(part) } : part,
  );
}

/** Replaces loaded files of users whose bytes are of a type that the model does not take, and files that could not be loaded. */
export function withoutUntakenFiles(
  messages: readonly ModelMessage[],
  fileTypes: readonly string[] | undefined,
  target: ReportTarget,
): ModelMessage[] {
  const change = (part: AnyPart, url: URL, role: ModelMessage["role"]) => {
    const { href, protocol } = url;
    const isLeft = parseFileReference(href) !== undefined;
    const file = { mediaType: String(part.mediaType), url: href };
    if (!isLeft && (role !== "user" || protocol !== "data:" || isTakenFile(file, fileTypes))) return part;
    report(target, href);
    return { type: "text", text: noteFor(part) };
  };
  return mapFiles(messages, change, /^(data|scrollback-file):/i);
}

/** Replaces the parts with a URL of one of these schemes. */
function mapFiles(
  messages: readonly ModelMessage[],
  change: (part: AnyPart, url: URL, role: ModelMessage["role"]) => AnyPart,
  schemes = /^https?:/i,
): ModelMessage[] {
  const changedIn =
    (role: ModelMessage["role"]) =>
    (part: AnyPart): AnyPart => {
      const url = urlOf(part, schemes);
      return url ? change(part, url, role) : part;
    };
  return messages.map((message) => {
    const { role, content } = message;
    if (typeof content === "string") return message;
    const changed = changedIn(role);
    const parts = (content as AnyPart[]).map((part) => {
      if (role === "user") return changed(part);
      const output = Object(part.output) as { type?: unknown; value?: unknown };
      if (part.type !== "tool-result" || output.type !== "content" || !Array.isArray(output.value))
        return part;
      return { ...part, output: { ...output, value: (output.value as AnyPart[]).map(changed) } };
    });
    return { ...message, content: parts } as ModelMessage;
  });
}

/** The URL of a file: `data` of a file, or `url` of the older types of tool results. */
function urlOf({ type, data, url, image }: AnyPart, schemes: RegExp): URL | undefined {
  if (!["file", "image", "file-url", "image-url"].includes(type)) return undefined;
  const source = data ?? image ?? url;
  const given = source instanceof URL ? source : ((Object(source) as { url?: unknown }).url ?? source);
  const text = given instanceof URL ? given.href : given;
  return typeof text === "string" && schemes.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}

function noteFor(part: object): string {
  const { filename, mediaType } = part as Readonly<Record<string, unknown>>;
  const names = [filename, mediaType].filter((name) => typeof name === "string");
  return `(A file is not available: ${names.join(", ")})`;
}

/** Reports a file once a chat. The query of a URL may be a signature, so the error does not contain it. */
function report(target: ReportTarget, url: string): void {
  const { protocol, host, pathname } = URL.canParse(url)
    ? new URL(url)
    : { protocol: "", host: "", pathname: "" };
  const place = protocol.startsWith("http")
    ? `${protocol}//${host}${pathname}`
    : `${protocol || "a relative URL"}`;
  const problem =
    "a file cannot be loaded, or its type is not in the option fileTypes, so the model gets a note in its place";
  reportOnce(
    target,
    // Of data in a URL, the beginning is enough.
    `file ${url.slice(0, 1_000)}`,
    () => new StoreError("NOT_FOUND", `history: ${problem}: ${place} (thread ${target.threadId})`),
  );
}

import { shownCount, shownSize } from "../../output/figures.ts";
import type { Block, CutText, MessageRow } from "../api-types.ts";
import { element, time } from "./dom.ts";
import { pathOf } from "./read.ts";

/** The thread of a message. */
export interface MessagePlace {
  readonly threadId: string;
  readonly revision: string;
}

/** The link to a thread of this page. */
export function threadHref(threadId: string): string {
  return `#${encodeURIComponent(threadId)}`;
}

/** A message as an article of a feed. */
export function messageRow(message: MessageRow, { threadId, revision }: MessagePlace): HTMLElement {
  const { sequence, role = "unreadable", createdAt, size, marks = [], blocks = [], links = [] } = message;
  const id = `message-${sequence}`;
  const at = { id: threadId, revision, sequence };
  const raw = pathOf("/api/raw", at);
  const heading = element(
    "header",
    {},
    element("h3", { id, class: "role" }, role),
    element("span", { class: "number" }, `#${sequence}`),
    ...(createdAt === undefined ? [] : [time(createdAt)]),
    ...(size === undefined ? [] : [element("span", {}, shownSize(size))]),
    ...marks.map((mark) => element("span", { class: "mark", dir: "auto" }, mark)),
    newTab("Raw record", raw, `Raw record of message ${sequence}`),
  );
  const parts = blocks.map((block, part) => blockOf(block, raw, pathOf("/api/file", { ...at, part })));
  const siblings = links.map((link) =>
    element("a", { class: "sibling", href: threadHref(link.threadId) }, link.label),
  );
  const problem = message.problem === undefined ? [] : [problemOf(message.problem)];
  return element(
    "article",
    { tabindex: 0, "aria-labelledby": id, class: `message ${/^\w+$/.test(role) ? role : ""}` },
    ...[heading, ...problem, ...parts, ...siblings],
  );
}

/** What a reader must know. */
export function problemOf(text: string): HTMLElement {
  return element("p", { class: "problem", dir: "auto" }, text);
}

/** A link to a response that is not a part of this page. @param label what screen readers say. Default: the name. */
export function newTab(name: string, href: string, label?: string): HTMLElement {
  return element("a", { href, target: "_blank", rel: "noreferrer", "aria-label": label }, name);
}

/** A text, and what it is the beginning of. */
export function cutBody({ text, cutFrom }: CutText, raw: string, tag: "p" | "pre" = "pre"): HTMLElement[] {
  const body = element(tag, { class: "body", dir: "auto" }, text);
  if (cutFrom === undefined) return [body];
  const note = `Cut: this text has ${shownCount(cutFrom)} characters. `;
  return [body, element("p", { class: "cut" }, note, newTab("Open it whole", raw))];
}

const names = {
  text: "",
  reasoning: "Reasoning",
  call: "Calls",
  result: "Result of",
  file: "File",
  data: "Value",
  fields: "",
} as const;

function blockOf(
  { kind, label = "", isError, body, file, fields }: Block,
  raw: string,
  path: string,
): HTMLElement {
  const name = [isError ? "Error of" : names[kind], label].filter((text) => text !== "").join(" ");
  const found = element("div", { class: `block ${kind}${isError ? " error" : ""}` });
  if (name !== "") found.append(element("h4", { dir: "auto" }, name));
  if (body) found.append(...cutBody(body, raw, kind === "text" || kind === "reasoning" ? "p" : "pre"));
  if (file) {
    const title = file.name === "" ? file.mediaType : `${file.name}, ${file.mediaType}`;
    // The height is known before the image is loaded, so that nothing moves.
    if (file.isImage) found.append(element("img", { src: path, alt: title, loading: "lazy" }));
    found.append(element("p", { dir: "auto" }, file.isServed ? newTab(title, path) : title));
  }
  if (fields) {
    const rows = fields.flatMap(([term, value]) => [
      element("dt", { dir: "auto" }, term),
      element("dd", { dir: "auto" }, value),
    ]);
    found.append(element("dl", {}, ...rows));
  }
  return found;
}

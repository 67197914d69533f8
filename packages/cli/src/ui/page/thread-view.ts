import { countOf, shownCount, shownSize } from "../../output/figures.ts";
import type { MessageRow, MessageRows, ThreadHead, Verification } from "../api-types.ts";
import { button, element, time } from "./dom.ts";
import { cutBody, messageRow, newTab, problemOf, threadHref } from "./message-row.ts";
import { pathOf, read } from "./read.ts";
import { VirtualList } from "./virtual-list.ts";

const PAGE = 100;
const RETRY_MS = 2_000;

/** One thread: its facts, and its messages, which follow its changes. */
export class ThreadView {
  readonly root = element("div", { class: "thread" });
  readonly #threadId: string;
  readonly #say: (text: string) => void;
  readonly #ending = new AbortController();
  readonly #facts = element("header", { class: "facts" });
  readonly #verified = element("div", { role: "status" });
  readonly #feed = element("div", { class: "feed", role: "feed", "aria-label": "Messages" });
  readonly #list: VirtualList<MessageRow>;
  #page: Omit<MessageRows, "messages"> = { revision: null, count: 0, problems: [] };
  /** Whether the list ends with the newest message. */
  #isNewest = true;
  #isLoading = false;

  /** @param say tells the reader what has happened. */
  constructor(threadId: string, say: (text: string) => void) {
    this.#threadId = threadId;
    this.#say = say;
    this.root.append(this.#facts, this.#verified, this.#feed);
    this.#list = new VirtualList<MessageRow>({
      viewport: this.#feed,
      // A record that was written anew is another one.
      keyOf: ({ sequence, createdAt, size }) => `${sequence} ${createdAt} ${size}`,
      render: (message, index) => this.#row(message, index),
      estimate: 120,
      onNear: (side) => void this.#loadMore(side),
    });
    this.#feed.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** Reads the thread and follows it, until it is closed. */
  async open(): Promise<void> {
    await this.#try(async () => {
      await this.#showHead();
      await this.#load({}, "end");
    });
    void this.#follow();
  }

  close(): void {
    this.#ending.abort();
    this.root.remove();
  }

  /** Focuses the newest message that is shown. */
  focus(): void {
    const last = this.#list.reveal(this.#list.items.length - 1);
    (last ?? this.#facts.querySelector("button"))?.focus();
  }

  async #try(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#say(error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  #read<T>(path: string, query: Record<string, string | number | undefined> = {}): Promise<T> {
    return read<T>(path, { id: this.#threadId, ...query }, this.#ending.signal);
  }

  async #showHead(): Promise<void> {
    const head = await this.#read<ThreadHead>("/api/thread");
    const { title, name, kind, count = 0, createdAt, updatedAt, expiresAt, bytes, revision, metadata } = head;
    document.title = `${title ?? name} · Scrollback`;
    const isOpen = this.#facts.querySelector("details")?.open ?? false;
    const fact = (term: string, value: Node | string) => [
      element("div", {}, element("dt", {}, term), element("dd", {}, value)),
    ];
    const raw = pathOf("/api/metadata", { id: this.#threadId });
    const facts = element(
      "dl",
      {},
      ...fact("Id", element("code", { dir: "auto" }, name)),
      ...(kind === undefined ? [] : fact("Kind", kind)),
      ...fact("Messages", shownCount(count)),
      ...(bytes === undefined ? [] : fact("Size", shownSize(bytes))),
      ...(createdAt === undefined ? [] : fact("Created", time(createdAt))),
      ...(updatedAt === undefined ? [] : fact("Updated", time(updatedAt))),
      ...(expiresAt === undefined ? [] : fact("Expires", time(expiresAt))),
      ...fact("Revision", element("code", {}, revision ?? "none: the thread does not exist")),
    );
    const details =
      metadata && element("details", {}, element("summary", {}, "Metadata"), ...cutBody(metadata, raw));
    if (details) details.open = isOpen;
    const links = head.links.map(({ threadId, label }) =>
      element("li", {}, element("a", { href: threadHref(threadId), dir: "auto" }, label)),
    );
    this.#facts.replaceChildren(
      element("h2", { dir: "auto" }, title ?? name),
      facts,
      ...head.problems.map(problemOf),
      ...(details ? [details] : []),
      ...(links.length > 0
        ? [element("nav", { "aria-label": "Related threads" }, element("ul", {}, ...links))]
        : []),
      element(
        "div",
        { class: "commands" },
        button(
          "Oldest",
          () => void this.#try(() => this.#load({ first: this.#page.revision ?? "" }, "start")),
        ),
        button("Newest", () => void this.#try(() => this.#load({}, "end"))),
        button("Verify", () => void this.#verify()),
        ...(metadata ? [newTab("Raw metadata", raw)] : []),
      ),
    );
  }

  /** Shows a page in place of all others. */
  async #load(query: { readonly first?: string }, anchor: "start" | "end"): Promise<void> {
    const { messages, ...page } = await this.#read<MessageRows>("/api/messages", { limit: PAGE, ...query });
    this.#page = page;
    this.#isNewest = anchor === "end" || messages.length < PAGE;
    for (const problem of page.problems) this.#say(problem);
    this.#list.set([], "start");
    this.#list.set(messages, anchor);
  }

  async #loadMore(side: "start" | "end"): Promise<void> {
    const { older, newer } = this.#page;
    const query = side === "start" ? { before: older } : { after: this.#isNewest ? undefined : newer };
    if (this.#isLoading || Object.values(query)[0] === undefined) return;
    this.#isLoading = true;
    await this.#try(async () => {
      const { messages, ...page } = await this.#read<MessageRows>("/api/messages", { limit: PAGE, ...query });
      if (this.#page.older !== older || this.#page.newer !== newer) return;
      if (side === "start") {
        const { older: _, ...rest } = this.#page;
        this.#page = { ...rest, ...(page.older !== undefined && { older: page.older }) };
        this.#list.set([...messages, ...this.#list.items], "view");
      } else {
        this.#page = { ...this.#page, ...(page.newer !== undefined && { newer: page.newer }) };
        this.#isNewest = messages.length < PAGE;
        this.#list.set([...this.#list.items, ...messages], "view");
      }
    });
    this.#isLoading = false;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      // A browser has few connections to a server, for all of its tabs.
      if (document.hidden)
        await new Promise((resolve) =>
          document.addEventListener("visibilitychange", resolve, { once: true }),
        );
      const known = this.#page.revision ?? "";
      const isRead = await this.#try(async () => {
        const { revision } = await this.#read<{ revision: string }>("/api/changes", { revision: known });
        if (revision === known || signal.aborted) return;
        await this.#showHead();
        await this.#showNewest();
      });
      if (!isRead) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  /** After a change: the newest page takes the place of what was there. */
  async #showNewest(): Promise<void> {
    const { messages, ...page } = await this.#read<MessageRows>("/api/messages", { limit: PAGE });
    const before = this.#list.items;
    if (!this.#isNewest) {
      this.#page = { ...this.#page, revision: page.revision, count: page.count };
      return;
    }
    const first = messages[0]?.sequence ?? 0;
    const last = before.at(-1)?.sequence ?? 0;
    // What is older than the page is kept, if the page follows it.
    const isKept = page.older !== undefined && first <= last + 1;
    const kept = isKept ? before.filter(({ sequence }) => sequence < first) : [];
    const { older } = kept.length > 0 ? this.#page : page;
    const { older: _, ...rest } = page;
    this.#page = { ...rest, ...(older !== undefined && { older }) };
    this.#list.set([...kept, ...messages], "follow");
    const added = messages.filter(({ sequence }) => sequence > last).length;
    this.#say(added > 0 ? countOf(added, "new message") : "The thread has changed");
  }

  #row(message: MessageRow, index: number): HTMLElement {
    const { revision, count } = this.#page;
    const row = messageRow(message, { threadId: this.#threadId, revision: revision ?? "" });
    // What is shown begins at one end of the thread.
    const before = this.#isNewest ? Math.max(0, count - this.#list.items.length) : 0;
    row.setAttribute("aria-posinset", String(before + index + 1));
    row.setAttribute("aria-setsize", String(count));
    return row;
  }

  async #verify(): Promise<void> {
    this.#verified.replaceChildren(element("p", {}, "Verifying…"));
    await this.#try(async () => {
      const { outcome, messages, problems } = await this.#read<Verification>("/api/verify");
      const of = messages === undefined ? "" : `, ${countOf(messages, "message")}`;
      this.#verified.replaceChildren(
        element("p", {}, `Verified: ${outcome}${of}`),
        ...problems.map(problemOf),
      );
    });
  }

  #onKey(event: KeyboardEvent): void {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || target.getAttribute("role") === "feed") return;
    const index = this.#list.indexOf(target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const next = { Home: 0, End: this.#list.items.length - 1 }[key] ?? (step && index + step);
    if (index < 0 || next === undefined || next === null) return;
    // What is longer than the screen scrolls first.
    const [own, all] = [target.getBoundingClientRect(), this.#feed.getBoundingClientRect()];
    const isMore = step === 1 ? own.bottom > all.bottom + 1 : step === -1 && own.top < all.top - 1;
    if (isMore) return;
    event.preventDefault();
    this.#list.reveal(next)?.focus({ preventScroll: true });
  }
}

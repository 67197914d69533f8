import { countOf, shownCount } from "../../output/figures.ts";
import type { OwnerRow, OwnerRows, ThreadRow, ThreadRows } from "../api-types.ts";
import { button, element, time } from "./dom.ts";
import { read } from "./read.ts";
import { VirtualList } from "./virtual-list.ts";

type Row = ThreadRow | OwnerRow;

/** What the list shows: all threads, the owners of chats, or the chats of one. */
type Scope =
  | { readonly kind: "threads" }
  | { readonly kind: "owners" }
  | { readonly kind: "chats"; readonly owner: OwnerRow; readonly isArchived: boolean };

const SEARCH_DELAY_MS = 200;

/** The list beside the thread, with its search. */
export class ThreadList {
  readonly root = element("nav", { class: "list", "aria-label": "Threads and chats" });
  readonly #open: (threadId: string) => void;
  readonly #say: (text: string) => void;
  readonly #search = element("input", {
    type: "search",
    id: "search",
    autocomplete: "off",
    spellcheck: "false",
  });
  readonly #box = element("div", { class: "box", role: "listbox", tabindex: 0 });
  readonly #scopes = element("div", { class: "scopes" });
  readonly #state = element("p", { class: "state", role: "status" });
  readonly #more = button("Search further", () => void this.#load());
  readonly #list: VirtualList<Row>;
  #scope: Scope = { kind: "threads" };
  #cursor: string | undefined;
  #scanned = 0;
  /** The index of the row that the keys move. */
  #active = 0;
  #current: string | undefined;
  #loading: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param open called with the id of a chosen thread. */
  constructor(open: (threadId: string) => void, say: (text: string) => void) {
    this.#open = open;
    this.#say = say;
    this.#more.hidden = true;
    const label = element("label", { for: "search" }, "Search by title and id");
    const foot = element(
      "div",
      { class: "foot" },
      this.#state,
      this.#more,
      button("Refresh", () => this.reload()),
    );
    this.root.append(this.#scopes, element("div", { class: "search" }, label, this.#search), this.#box, foot);
    this.#list = new VirtualList<Row>({
      viewport: this.#box,
      keyOf: idOf,
      render: (row, index) => this.#option(row, index),
      estimate: 60,
      onNear: (side) => {
        // A search that has stopped goes on when it is asked to.
        if (side === "end" && this.#search.value === "") void this.#load();
      },
    });
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.reload(), SEARCH_DELAY_MS);
    });
    this.#search.addEventListener("keydown", ({ key }) => {
      if (key === "ArrowDown" || key === "Enter") this.focus();
    });
    this.#box.addEventListener("keydown", (event) => this.#onKey(event));
    this.#show({ kind: "threads" });
  }

  focus(): void {
    this.#box.focus();
  }

  focusSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  /** Marks the thread that is open. */
  mark(threadId: string | undefined): void {
    this.#current = threadId;
    this.#list.refresh();
  }

  /** Reads the list from its beginning. */
  reload(): void {
    this.#loading?.abort();
    this.#loading = undefined;
    this.#cursor = undefined;
    this.#scanned = 0;
    this.#active = 0;
    this.#list.set([], "start");
    void this.#load(true);
  }

  #show(scope: Scope): void {
    this.#scope = scope;
    this.#search.value = "";
    const choice = (name: string, kinds: readonly Scope["kind"][], target: Scope) => {
      const made = button(name, () => this.#show(target));
      made.setAttribute("aria-pressed", String(kinds.includes(scope.kind)));
      return made;
    };
    this.#scopes.replaceChildren(
      choice("Threads", ["threads"], { kind: "threads" }),
      choice("Chats", ["owners", "chats"], { kind: "owners" }),
    );
    if (scope.kind === "chats") {
      const { owner, isArchived } = scope;
      const archived = button("Archived", () => this.#show({ ...scope, isArchived: !isArchived }));
      archived.setAttribute("aria-pressed", String(isArchived));
      this.#scopes.append(element("span", { class: "owner", dir: "auto" }, owner.name), archived);
    }
    const names = { threads: "Threads", owners: "Owners of chats", chats: "Chats" };
    this.#box.setAttribute("aria-label", names[scope.kind]);
    this.reload();
  }

  async #load(isFirst = false): Promise<void> {
    if (this.#loading || (!isFirst && this.#cursor === undefined)) return;
    const loading = new AbortController();
    this.#loading = loading;
    this.#more.hidden = true;
    if (isFirst) this.#state.textContent = "Loading…";
    try {
      const { rows, cursor, scanned } = await this.#read(loading.signal);
      this.#cursor = cursor;
      this.#scanned += scanned;
      const known = new Set(this.#list.items.map(idOf));
      // A listing may give a thread twice.
      const added = rows.filter((row) => !known.has(idOf(row)));
      this.#loading = undefined;
      this.#list.set([...this.#list.items, ...added], "view");
      this.#showState();
      this.#activate(this.#active, false);
      if (rows.length === 0 && this.#search.value === "") void this.#load();
    } catch (error) {
      if (loading.signal.aborted) return;
      this.#loading = undefined;
      this.#state.textContent = "";
      this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  async #read(
    signal: AbortSignal,
  ): Promise<{ rows: readonly Row[]; cursor: string | undefined; scanned: number }> {
    const scope = this.#scope;
    const list = { query: this.#search.value || undefined, cursor: this.#cursor };
    if (scope.kind === "owners") {
      const { owners, cursor } = await read<OwnerRows>("/api/owners", list, signal);
      return { rows: owners, cursor, scanned: owners.length };
    }
    const chats = scope.kind === "chats" && { owner: scope.owner.owner, archived: String(scope.isArchived) };
    const path = chats ? "/api/chats" : "/api/threads";
    const { threads, cursor, scanned } = await read<ThreadRows>(path, { ...list, ...chats }, signal);
    return { rows: threads, cursor, scanned };
  }

  #showState(): void {
    const { length } = this.#list.items;
    const isMore = this.#cursor !== undefined;
    const noun = { threads: "thread", owners: "owner", chats: "chat" }[this.#scope.kind];
    const isSearch = this.#search.value !== "";
    const found = isSearch
      ? `${countOf(length, noun)} found`
      : `${isMore ? "The first " : ""}${countOf(length, noun)}`;
    const scanned =
      isSearch && this.#scanned > 0 ? ` in ${isMore ? "the first " : ""}${shownCount(this.#scanned)}` : "";
    this.#state.textContent = found + scanned;
    this.#more.hidden = !isSearch || !isMore;
  }

  #option(row: Row, index: number): HTMLElement {
    const made = element("div", {
      ...{ role: "option", id: `option-${index}`, class: "option" },
      "aria-selected": String("threadId" in row && row.threadId === this.#current),
      "aria-posinset": index + 1,
      "aria-setsize": this.#cursor === undefined ? this.#list.items.length : -1,
      "data-active": index === this.#active ? "" : undefined,
    });
    made.addEventListener("click", () => {
      this.#activate(index, false);
      this.#choose(row);
    });
    if (!("threadId" in row)) {
      made.append(element("span", { class: "title", dir: "auto" }, row.name));
      return made;
    }
    const { title, name, kind, count, updatedAt, preview, marks = [], problem } = row;
    const facts = [
      ...(kind === undefined ? [] : [element("span", {}, kind)]),
      ...(count === undefined ? [] : [element("span", {}, countOf(count, "message"))]),
      ...(updatedAt === undefined ? [] : [time(updatedAt)]),
      ...marks.map((mark) => element("span", { class: "mark" }, mark)),
    ];
    made.append(
      element("span", { class: "title", dir: "auto" }, title ?? name),
      ...(title === undefined ? [] : [element("span", { class: "id", dir: "auto" }, name)]),
      ...(preview === undefined ? [] : [element("span", { class: "preview", dir: "auto" }, preview)]),
      element("span", { class: "row-facts" }, ...facts),
      ...(problem === undefined ? [] : [element("span", { class: "problem", dir: "auto" }, problem)]),
    );
    return made;
  }

  #choose(row: Row | undefined): void {
    if (!row) return;
    if ("threadId" in row) this.#open(row.threadId);
    else {
      this.#show({ kind: "chats", owner: row, isArchived: false });
      this.focus();
    }
  }

  /** Moves the active row, which screen readers announce. */
  #activate(index: number, isRevealed: boolean): void {
    const last = this.#list.items.length - 1;
    this.#active = Math.max(0, Math.min(index, last));
    if (isRevealed) this.#list.reveal(this.#active);
    this.#list.refresh();
    const id = `option-${this.#active}`;
    if (this.#box.querySelector(`#${id}`)) this.#box.setAttribute("aria-activedescendant", id);
    else this.#box.removeAttribute("aria-activedescendant");
  }

  #onKey(event: KeyboardEvent): void {
    const { key } = event;
    const rows = Math.max(1, Math.floor(this.#box.clientHeight / 60));
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: rows, PageUp: -rows };
    const ends: Record<string, number> = { Home: 0, End: this.#list.items.length - 1 };
    const step = steps[key];
    if (step !== undefined) this.#activate(this.#active + step, true);
    else if (ends[key] !== undefined) this.#activate(ends[key], true);
    else if (key === "Enter" || key === " ") this.#choose(this.#list.items[this.#active]);
    else if (key === "Escape" && this.#scope.kind === "chats") this.#show({ kind: "owners" });
    else return;
    event.preventDefault();
  }
}

function idOf(row: Row): string {
  return "threadId" in row ? row.threadId : row.owner;
}

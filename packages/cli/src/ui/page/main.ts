import { button, element } from "./dom.ts";
import { threadHref } from "./message-row.ts";
import { ThreadList } from "./thread-list.ts";
import { ThreadView } from "./thread-view.ts";

const said = element("p", { class: "said", role: "status" });
const thread = element("section", { class: "opened", "aria-label": "Thread" });
const empty = element(
  "p",
  { class: "empty" },
  "Choose a thread. Keys: / searches, the arrow keys move, Enter opens, Escape goes back to the list.",
);
let view: ThreadView | undefined;

function say(text: string): void {
  said.textContent = text;
}

const list = new ThreadList((threadId) => {
  const hash = threadHref(threadId);
  if (location.hash !== hash) location.hash = hash;
  else if (view) {
    document.body.classList.add("has-thread");
    view.focus();
  }
}, say);

/** Shows the thread that the address names. */
async function show(isChosen: boolean): Promise<void> {
  view?.close();
  view = undefined;
  say("");
  const threadId = threadIn(location.hash);
  document.body.classList.toggle("has-thread", threadId !== undefined);
  list.mark(threadId);
  document.title = "Scrollback";
  if (threadId === undefined) return thread.replaceChildren(empty);
  const opened = new ThreadView(threadId, say);
  view = opened;
  thread.replaceChildren(button("Back to the list", back), opened.root);
  await opened.open();
  if (isChosen && view === opened) opened.focus();
}

function threadIn(hash: string): string | undefined {
  try {
    return decodeURIComponent(hash.slice(1)) || undefined;
  } catch {
    return undefined;
  }
}

function back(): void {
  document.body.classList.remove("has-thread");
  list.focus();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    document.body.classList.remove("has-thread");
    list.focusSearch();
  } else if (event.key === "Escape") back();
});
addEventListener("hashchange", () => void show(true));
document.body.append(
  element(
    "header",
    { class: "bar" },
    element("h1", {}, "Scrollback"),
    element("span", {}, "read-only"),
    said,
  ),
  element("main", {}, list.root, thread),
);
void show(false);

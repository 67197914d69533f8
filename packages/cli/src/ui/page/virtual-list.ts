/** What a {@link VirtualList} shows. */
export interface VirtualListOptions<T> {
  /** The element that scrolls. */
  readonly viewport: HTMLElement;
  /** Identifies an item: one that changes gets another key. */
  keyOf(item: T): string;
  render(item: T, index: number): HTMLElement;
  /** The height of an item that was not shown yet, in pixels. */
  readonly estimate: number;
  /** Called when less than two viewports are left in a direction. */
  onNear(side: "start" | "end"): void;
}

/** What a list shows after its items have changed: the same as before, one of its ends, or the end if it was there. */
export type Anchor = "view" | "start" | "end" | "follow";

/** How far beyond the viewport items are in the document, in pixels. */
const OVERSCAN = 400;

/** A list of which only the visible items are in the document. Items have any height, which is measured when they are shown. */
export class VirtualList<T> {
  readonly #options: VirtualListOptions<T>;
  readonly #content = document.createElement("div");
  #items: readonly T[] = [];
  #heights: number[] = [];
  /** The position of each item, and of the end. */
  #tops = new Float64Array(1);
  readonly #shown = new Map<string, HTMLElement>();
  readonly #indexes = new WeakMap<Element, number>();
  readonly #resized: ResizeObserver;
  #width = 0;
  #isAtEnd = false;

  constructor(options: VirtualListOptions<T>) {
    this.#options = options;
    const { viewport } = options;
    this.#content.className = "virtual";
    this.#content.setAttribute("role", "presentation");
    viewport.append(this.#content);
    viewport.addEventListener("scroll", () => this.#show(), { passive: true });
    this.#resized = new ResizeObserver(() => this.#onResize());
    this.#resized.observe(viewport);
  }

  get items(): readonly T[] {
    return this.#items;
  }

  /** Shows other items. Those with known keys keep their heights. */
  set(items: readonly T[], anchor: Anchor): void {
    const { keyOf, estimate, viewport } = this.#options;
    const heights = new Map(this.#items.map((item, index) => [keyOf(item), this.#heights[index]]));
    const place = this.#place();
    const kept = place && keyOf(place.item);
    const isEnd = anchor === "end" || (anchor === "follow" && this.#isAtEnd);
    this.#items = items;
    this.#heights = items.map((item) => heights.get(keyOf(item)) ?? estimate);
    this.#measureTops();
    const index = kept === undefined ? -1 : items.findIndex((item) => keyOf(item) === kept);
    if (anchor === "start") viewport.scrollTop = 0;
    else if (isEnd) this.#toEnd();
    else if (place && index >= 0) viewport.scrollTop = this.#top(index) + place.offset;
    this.#show(isEnd);
  }

  /** The element of an item, which is brought into view. */
  reveal(index: number): HTMLElement | undefined {
    const item = this.#items[index];
    if (item === undefined) return undefined;
    const { viewport, keyOf } = this.#options;
    const [top, bottom] = [this.#top(index), this.#top(index + 1)];
    if (top < viewport.scrollTop) viewport.scrollTop = top;
    else if (bottom > viewport.scrollTop + viewport.clientHeight)
      viewport.scrollTop = Math.min(top, bottom - viewport.clientHeight);
    this.#show();
    return this.#shown.get(keyOf(item));
  }

  /** The index of the item of an element. */
  indexOf(shown: Element): number {
    return this.#indexes.get(shown) ?? -1;
  }

  /** Renders the visible items anew. */
  refresh(): void {
    for (const shown of this.#shown.values()) this.#remove(shown);
    this.#shown.clear();
    this.#show();
  }

  #top(index: number): number {
    return this.#tops[Math.min(index, this.#items.length)] ?? 0;
  }

  #measureTops(): void {
    const tops = new Float64Array(this.#heights.length + 1);
    let sum = 0;
    for (const [index, height] of this.#heights.entries()) {
      sum += height;
      tops[index + 1] = sum;
    }
    this.#tops = tops;
    this.#content.style.height = `${sum}px`;
  }

  /** The index of the item at a position. */
  #at(position: number): number {
    let [low, high] = [0, Math.max(0, this.#items.length - 1)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#top(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The first visible item, and how much of it is above the viewport. */
  #place(): { readonly item: T; readonly index: number; readonly offset: number } | undefined {
    const { scrollTop } = this.#options.viewport;
    const index = this.#at(scrollTop);
    const item = this.#items[index];
    return item === undefined ? undefined : { item, index, offset: scrollTop - this.#top(index) };
  }

  #toEnd(): void {
    const { viewport } = this.#options;
    viewport.scrollTop = this.#top(this.#items.length) - viewport.clientHeight;
  }

  #onResize(): void {
    const { viewport, estimate } = this.#options;
    if (viewport.clientWidth !== this.#width) {
      this.#width = viewport.clientWidth;
      // All texts break otherwise.
      this.#heights = this.#heights.map(() => estimate);
      for (const [index, item] of this.#items.entries()) this.#measure(item, index);
      this.#measureTops();
    }
    this.#show(this.#isAtEnd);
  }

  /** Puts what is visible into the document, and removes the rest. */
  #show(staysAtEnd = false): void {
    const { viewport } = this.#options;
    // What is measured changes what is visible.
    for (let pass = 0; pass < 5; pass++) {
      const place = this.#place();
      const first = this.#at(viewport.scrollTop - OVERSCAN);
      const last = this.#at(viewport.scrollTop + viewport.clientHeight + OVERSCAN);
      const isSame = !this.#render(first, last);
      this.#measureTops();
      if (staysAtEnd) this.#toEnd();
      else if (place) {
        const top = this.#top(place.index) + place.offset;
        if (Math.abs(top - viewport.scrollTop) >= 1) viewport.scrollTop = top;
      }
      if (isSame) break;
    }
    for (const shown of this.#shown.values())
      shown.style.transform = `translateY(${this.#top(this.#indexes.get(shown) ?? 0)}px)`;
    this.#isAtEnd = viewport.scrollTop + viewport.clientHeight >= this.#top(this.#items.length) - 2;
    if (this.#items.length === 0) return;
    const room = viewport.clientHeight * 2;
    if (viewport.scrollTop < room) this.#options.onNear("start");
    if (viewport.scrollTop + viewport.clientHeight + room > this.#top(this.#items.length))
      this.#options.onNear("end");
  }

  /** Returns whether the height of an item was not as it was expected. */
  #render(first: number, last: number): boolean {
    const { keyOf, render } = this.#options;
    const indexes = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    // What has the focus keeps it, also out of sight.
    const focused = this.#focusedIndex();
    if (focused !== -1 && focused < first) indexes.unshift(focused);
    if (focused > last) indexes.push(focused);
    const wanted = new Map<string, number>();
    for (const index of indexes) {
      const item = this.#items[index];
      if (item !== undefined) wanted.set(keyOf(item), index);
    }
    for (const [key, shown] of this.#shown) {
      if (wanted.has(key)) continue;
      this.#remove(shown);
      this.#shown.delete(key);
    }
    let isChanged = false;
    let before: Element | null = null;
    for (const [key, index] of wanted) {
      const item = this.#items[index];
      if (item === undefined) continue;
      let shown = this.#shown.get(key);
      if (!shown) {
        shown = render(item, index);
        this.#shown.set(key, shown);
        this.#resized.observe(shown);
      }
      this.#indexes.set(shown, index);
      const next: Element | null = before ? before.nextElementSibling : this.#content.firstElementChild;
      // The order in the document is that of the list, for the Tab key and screen readers.
      if (shown !== next) this.#content.insertBefore(shown, next);
      before = shown;
      isChanged = this.#measure(item, index) || isChanged;
    }
    return isChanged;
  }

  /** The index of the item that has the focus, or -1. */
  #focusedIndex(): number {
    const { keyOf } = this.#options;
    const [key] = [...this.#shown].find(([, shown]) => shown.contains(document.activeElement)) ?? [];
    return key === undefined ? -1 : this.#items.findIndex((item) => keyOf(item) === key);
  }

  #measure(item: T, index: number): boolean {
    const shown = this.#shown.get(this.#options.keyOf(item));
    if (!shown?.isConnected) return false;
    const height = shown.offsetHeight;
    if (height === this.#heights[index]) return false;
    this.#heights[index] = height;
    return true;
  }

  #remove(shown: HTMLElement): void {
    this.#resized.unobserve(shown);
    shown.remove();
  }
}

// Exceeds 300 lines because the steps of a plan share the state of the thread that it makes.

import {
  type CommitOutcome,
  type CommitRequest,
  formatRevision,
  planCommit,
  SequenceBounds,
  type TrimSearch,
} from "@scrollback/store-core/driver";
import { byteLength } from "@scrollback/store-core/internal";
import type { Head, Page, PageEntry, StoredMessage } from "../database.ts";
import {
  CUT_COMMITS,
  KEPT_TAIL,
  KNOWN_KINDS,
  type Limits,
  MAX_PAGES,
  MAX_TAIL,
  MERGED_PAGES,
  sizeOf,
  sizeOfAll,
} from "./limits.ts";
import { Operations } from "./operations.ts";
import {
  idsOf,
  isOnly,
  type LaidOut,
  type LoadedPages,
  layOut,
  messagesOf,
  NO_CONTENT,
  PagesNeeded,
} from "./pages.ts";
import { isAlive, isLater, untilAfter } from "./times.ts";

/** What a swap makes of a head, and what must be done before it. */
export interface Plan {
  readonly head: Head;
  /** See `Swap.pushed`. */
  readonly pushed: number | undefined;
  /** Pages to write first. */
  readonly pages: readonly Page[];
  /** Pages whose `until` must be raised to that of the head first. */
  readonly raised: readonly string[];
  /** For the plan of the next commit. */
  readonly search: TrimSearch;
}

/** What a plan is made of, beside the head. */
export interface DraftOptions {
  readonly now: number;
  readonly limits: Limits;
  readonly loaded: LoadedPages;
  /** Begins the ids of all pages of this plan. Never used before. */
  readonly seed: string;
  /** The operations whose outcome this process has received. */
  readonly received: ReadonlySet<bigint>;
  /** Of the plan that made the head; undefined if another process made it. */
  readonly search: TrimSearch | undefined;
}

const NONE: readonly never[] = Object.freeze([]);
const NOT_SEARCHED: TrimSearch = Object.freeze({ userless: 1, startless: 1, newestCompaction: 0 });

/**
 * Plans commits to a thread, one after the other, for one swap. Pure: sends nothing. What it throws as `PagesNeeded` must be read, then the
 * plan is made again.
 */
export class Draft {
  readonly #base: Head | null;
  readonly #options: DraftOptions;
  readonly #isAlive: boolean;
  /** The thread after the commits so far. Its tail may be too large, and is a list of this draft. */
  #head: Head | undefined;
  readonly #written = new Map<string, Page>();
  #leaving: string[] = [];
  #search: TrimSearch;
  #ids = 0;
  #appended = 0;
  #hasDropped = false;
  #last: CommitRequest | undefined;

  /** @param base the head that the swap replaces. Its `leaving` are removed already. */
  constructor(base: Head | null, options: DraftOptions) {
    this.#base = base;
    this.#options = options;
    this.#search = options.search ?? NOT_SEARCHED;
    this.#isAlive = isAlive(base, options.now);
    if (this.#isAlive && base) this.#head = { ...base, leaving: NONE };
  }

  get revision(): string | null {
    return this.#head ? formatRevision(this.#head.incarnation, this.#head.n) : null;
  }

  /** Plans a commit. A conflict, or a repeated operation, changes nothing. */
  commit(request: CommitRequest): CommitOutcome {
    const { now } = this.#options;
    const operation = Operations.of(request);
    const remembering = this.#head ?? (this.#base?.isDead ? this.#base : undefined);
    const known = remembering && Operations.find(remembering, operation, now);
    if (known) {
      return known.isSame
        ? { outcome: "repeated", revision: formatRevision(known.incarnation, known.n) }
        : { outcome: "operation-conflict", revision: this.revision };
    }
    const { expectedRevision } = request;
    if (expectedRevision !== undefined && expectedRevision !== this.revision)
      return { outcome: "revision-conflict", revision: this.revision };
    const before = this.#head ?? this.#begin(request);
    const n = before.n + 1;
    const metadata = this.#metadataAfter(before, request);
    const content = this.#contentAfter(before, request, n);
    this.#head = {
      ...before,
      ...content,
      n,
      metadata,
      operations: Operations.add(before.operations, operation, n, now),
      updatedAt: request.updatedAt,
      expiresAt: request.ttlMs === undefined ? undefined : now + request.ttlMs,
    };
    this.#last = request;
    return { outcome: "committed", revision: formatRevision(before.incarnation, n) };
  }

  /** The plan of the commits; undefined if nothing changes. */
  finish(): Plan | undefined {
    const request = this.#last;
    if (!this.#head || !request) return undefined;
    const { now, received } = this.#options;
    const { expiresAt } = this.#head;
    const before = this.#isAlive ? (this.#base?.until ?? undefined) : undefined;
    const until = untilAfter(before, { expiresAt, ttlMs: request.ttlMs, now });
    // An `until` is only raised, so pages that are kept for much longer are written anew.
    if (this.#isAlive && isLater(before, until)) this.#rewriteAll();
    this.#rewriteCut();
    this.#moveOverflow();
    // In a thread that is trimmed, a page that is cut would be large.
    if (request.maxMessages === undefined) this.#merge();
    this.#forgetKinds(request.maxMessages);
    const head: Head = {
      ...this.#head,
      operations: Operations.prune(this.#head.operations, now, received),
      leaving: this.#leaving.length > 0 ? this.#leaving : NONE,
      until,
    };
    const listed = listedIds(head);
    const isRaised = this.#isAlive && isLater(until, before);
    return {
      head,
      pushed: this.#isAlive && !this.#hasDropped ? Math.min(this.#appended, head.tail.length) : undefined,
      pages: [...this.#written.values()].map((page) => ({ ...page, until })),
      raised: isRaised ? listed.filter((id) => !this.#written.has(id)) : NONE,
      search: this.#search,
    };
  }

  /** A new incarnation, in place of no head, a dead one, or one that has expired. */
  #begin({ newIncarnation, createdAt }: CommitRequest): Head {
    const base = this.#base;
    if (base) this.#leaving.push(...listedIds(base));
    const isDead = base?.isDead === true;
    return {
      incarnation: newIncarnation,
      n: 0,
      ...NO_CONTENT,
      operations: isDead ? Operations.ofFormer(base.operations) : Operations.NONE,
      former: isDead ? base.incarnation : undefined,
      leaving: NONE,
      createdAt,
      updatedAt: createdAt,
    };
  }

  #metadataAfter(before: Head, { metadata, updatedAt }: CommitRequest): Head["metadata"] {
    if (metadata === undefined) return before.metadata;
    if (before.metadata && "page" in before.metadata) this.#leave([before.metadata.page]);
    if (metadata === null) return undefined;
    if (byteLength(metadata) <= this.#options.limits.metadata) return { text: metadata };
    const page = this.#newId();
    this.#written.set(page, {
      id: page,
      messages: [{ sequence: 0, kind: "o", createdAt: updatedAt, text: metadata }],
    });
    return { page };
  }

  /** The bounds, tail, pages and pinned messages after a commit. */
  #contentAfter(before: Head, request: CommitRequest, n: number) {
    let { tail, pages } = before;
    const kindAt = (sequence: number) => this.#kindAt(before, sequence);
    const search = { ...this.#search, newestCompaction: before.newestCompaction };
    const plan = planCommit(before, request, request, kindAt, search);
    this.#search = plan.search;
    if (request.drop !== 0) {
      this.#hasDropped = true;
      tail = tail.filter(({ sequence }) => sequence < plan.kept.next && sequence >= plan.kept.first);
      for (let last = pages.at(-1); last && isCutAtEnd(last, plan.kept); last = pages.at(-1)) {
        if (Math.max(last.from, plan.kept.first) < plan.kept.next) {
          const rest = messagesOf(last, this.#loaded);
          tail = rest.filter(
            ({ sequence }) => sequence < plan.kept.next && SequenceBounds.isWithin(plan.kept, sequence),
          );
        }
        this.#leave(idsOf(last));
        pages = pages.slice(0, -1);
      }
    }
    const { pinned, compaction, first, next } = plan.bounds;
    const appended = request.append.map(({ kind, createdAt, text }, index) => ({
      sequence: plan.kept.next + index,
      kind,
      createdAt,
      text,
    }));
    this.#appended += appended.length;
    const all = appended.length > 0 ? [...tail, ...appended] : tail;
    const pins = SequenceBounds.pinnedOf(plan.bounds);
    const kept = pins.length > 0 || before.pins.length > 0 ? this.#pin(pins, before, all, pages) : undefined;
    return {
      ...{ pinned, compaction, first, next },
      newestCompaction: plan.search.newestCompaction,
      tail: all[0] && all[0].sequence < first ? all.filter(({ sequence }) => sequence >= first) : all,
      pins: kept?.pins ?? before.pins,
      pages: this.#trimPages(kept?.pages ?? pages, plan.bounds, n),
    };
  }

  /** Copies the pinned messages into the head, or, if they are large, into pages of their own. */
  #pin(pinned: readonly number[], before: Head, tail: readonly StoredMessage[], pages: readonly PageEntry[]) {
    const pins: StoredMessage[] = [];
    let apart = pages;
    for (const sequence of pinned) {
      const known = before.pins.find((pin) => pin.sequence === sequence);
      if (known) pins.push(known);
      if (known || pages.some((entry) => isOnly(entry, sequence))) continue;
      const inTail = tail.find((message) => message.sequence === sequence);
      const message = inTail ?? this.#messageAt(pages, sequence);
      if (sizeOf(message) <= this.#options.limits.pin) pins.push(message);
      else {
        const laid = this.#layOut([message]);
        // By their ends, so that they can be searched, and a drop finds the newest page last.
        apart = [...apart, ...laid.entries].sort((a, b) => a.upto - b.upto || b.from - a.from);
      }
    }
    const isSame =
      pins.length === before.pins.length && pins.every((pin, index) => pin === before.pins[index]);
    return { pins: isSame ? before.pins : pins, pages: apart };
  }

  /** Leaves out pages without a kept message, and marks one that has also others. */
  #trimPages(pages: readonly PageEntry[], bounds: SequenceBounds, n: number): readonly PageEntry[] {
    const { first } = bounds;
    const isWhole = ({ from }: PageEntry) => from >= first;
    if (pages.every(isWhole)) return pages;
    const pinned = SequenceBounds.pinnedOf(bounds);
    return pages.flatMap((entry) => {
      if (isWhole(entry) || pinned.some((sequence) => isOnly(entry, sequence))) return [entry];
      if (entry.upto > first) return [entry.cut === undefined ? { ...entry, cut: n } : entry];
      this.#leave(idsOf(entry));
      return [];
    });
  }

  #kindAt({ tail, pages, pins }: Head, sequence: number): StoredMessage["kind"] {
    const [oldest] = tail;
    if (oldest && sequence >= oldest.sequence) return tail[sequence - oldest.sequence]?.kind ?? "o";
    const pin = pins.find((message) => message.sequence === sequence);
    if (pin) return pin.kind;
    const entry = entryAt(pages, sequence);
    if (entry?.kinds !== undefined) return entry.kinds[sequence - entry.from] as StoredMessage["kind"];
    return this.#messageAt(pages, sequence).kind;
  }

  #messageAt(pages: readonly PageEntry[], sequence: number): StoredMessage {
    const entry = entryAt(pages, sequence);
    // Without the others of its page, because a search may ask for each.
    const stored = entry && this.#loaded.get(entry.id)?.messages[sequence - entry.from];
    if (stored?.sequence === sequence) return stored;
    const message = entry && messagesOf(entry, this.#loaded)[sequence - entry.from];
    return message ?? { sequence, kind: "o", createdAt: 0, text: "" };
  }

  /** Writes a page with trimmed messages anew, before they must be gone. */
  #rewriteCut(): void {
    const { n, pages } = this.#current;
    const isDue = ({ cut = n }: PageEntry) => n - cut >= CUT_COMMITS;
    if (pages.some(isDue)) this.#rewrite(isDue);
  }

  #rewriteAll(): void {
    const { pages, metadata } = this.#current;
    const page =
      metadata && "page" in metadata && !this.#written.has(metadata.page) ? metadata.page : undefined;
    const loaded = page === undefined ? null : this.#loaded.get(page);
    const unread = [...pages.filter(({ id }) => !this.#written.has(id)).flatMap(idsOf)];
    if (page !== undefined) unread.push(page);
    // All in one request.
    if (unread.some((id) => !this.#loaded.has(id))) throw new PagesNeeded(unread);
    if (page !== undefined) {
      this.#leave([page]);
      const id = this.#newId();
      this.#written.set(id, { id, messages: loaded?.messages ?? NONE });
      this.#head = { ...this.#current, metadata: { page: id } };
    }
    this.#rewrite(({ id }) => !this.#written.has(id));
  }

  #rewrite(isDue: (entry: PageEntry) => boolean): void {
    const { pages, ...head } = this.#current;
    const rewritten = pages.flatMap((entry) => {
      if (!isDue(entry)) return [entry];
      const rest = messagesOf(entry, this.#loaded);
      this.#leave(idsOf(entry));
      // Consecutive numbers: a pinned message is in the head, or alone in its page.
      return this.#layOut(rest.filter(({ sequence }) => sequence >= head.first || isOnly(entry, sequence)))
        .entries;
    });
    this.#head = { ...head, pages: rewritten };
  }

  /** Moves the oldest messages of a tail that is too large into pages. */
  #moveOverflow(): void {
    const { tail, pages } = this.#current;
    const { limits } = this.#options;
    if (tail.length <= MAX_TAIL && sizeOfAll(tail) <= limits.tail) return;
    let [start, bytes] = [tail.length, 0];
    while (start > 0 && tail.length - start < KEPT_TAIL) {
      bytes += sizeOf(tail[start - 1] ?? { text: "" });
      if (bytes > limits.keptTail) break;
      start -= 1;
    }
    const { entries } = this.#layOut(tail.slice(0, start));
    this.#head = { ...this.#current, tail: tail.slice(start), pages: [...pages, ...entries] };
  }

  /** Merges the smallest neighbours of a long list of pages, so that the list of a long thread stays short. */
  #merge(): void {
    const { pages, first } = this.#current;
    const isGrown = this.#written.has(pages.at(-1)?.id ?? "");
    if (pages.length <= MAX_PAGES || !isGrown) return;
    const { limits } = this.#options;
    // Not the new ones, nor pages of pinned messages, which come first.
    const old = pages.filter(({ id, from }) => from >= first && !this.#written.has(id));
    const runs = old.slice(MERGED_PAGES - 1).map((_, index) => {
      const run = old.slice(index, index + MERGED_PAGES);
      return { run, bytes: run.reduce((sum, { bytes }) => sum + bytes, 0) };
    });
    const [smallest] = runs.sort((one, other) => one.bytes - other.bytes);
    if (!smallest || smallest.bytes > limits.merged) return;
    const { run } = smallest;
    const unread = run.flatMap(idsOf).filter((id) => !this.#loaded.has(id));
    if (unread.length > 0) throw new PagesNeeded(unread);
    const messages = run.flatMap((entry) => messagesOf(entry, this.#loaded));
    this.#leave(run.flatMap(idsOf));
    const { entries } = this.#layOut(messages, limits.merged, Number.POSITIVE_INFINITY);
    const merged = pages.flatMap((entry) => {
      if (entry === run[0]) return entries;
      return run.includes(entry) ? [] : [entry];
    });
    this.#head = { ...this.#current, pages: merged };
  }

  /** Leaves out the kinds of old messages, at which no commit will trim. */
  #forgetKinds(maxMessages = 0): void {
    const { pages, next } = this.#current;
    const oldest = next - Math.max(KNOWN_KINDS, 2 * maxMessages);
    const isOld = ({ upto, kinds }: PageEntry) => kinds !== undefined && upto <= oldest;
    if (!pages.some(isOld)) return;
    const known = pages.map((entry) => {
      if (!isOld(entry)) return entry;
      const { kinds: _, ...rest } = entry;
      return rest;
    });
    this.#head = { ...this.#current, pages: known };
  }

  get #current(): Head {
    if (!this.#head) throw new Error("nothing was committed");
    return this.#head;
  }

  get #loaded(): LoadedPages {
    return this.#options.loaded;
  }

  #layOut(messages: readonly StoredMessage[], maxBytes?: number, maxMessages?: number): LaidOut {
    const laid = layOut(messages, () => this.#newId(), this.#options.limits, maxBytes, maxMessages);
    for (const page of laid.pages) this.#written.set(page.id, page);
    return laid;
  }

  #newId(): string {
    this.#ids += 1;
    return `${this.#options.seed}${this.#ids.toString(36)}`;
  }

  /** Takes pages out of the thread. One of this plan is not even written. */
  #leave(ids: readonly string[]): void {
    for (const id of ids) if (!this.#written.delete(id)) this.#leaving.push(id);
  }
}

/** The ids of all pages of a head that it needs. */
export function listedIds({ pages, metadata }: Pick<Head, "pages" | "metadata">): string[] {
  const ids = pages.flatMap(idsOf);
  return metadata && "page" in metadata ? [...ids, metadata.page] : ids;
}

/** The entry that contains a message: the page of its own, if it is pinned and has one. */
function entryAt(pages: readonly PageEntry[], sequence: number): PageEntry | undefined {
  let [low, high] = [0, pages.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pages[middle]?.upto ?? 0) <= sequence) low = middle + 1;
    else high = middle;
  }
  const entry = pages[low];
  return entry && entry.from <= sequence ? entry : undefined;
}

/** Whether a drop reaches an entry. */
function isCutAtEnd(entry: PageEntry, kept: SequenceBounds): boolean {
  const isPinned = SequenceBounds.pinnedOf(kept).some((sequence) => isOnly(entry, sequence));
  return entry.upto > kept.next || (!isPinned && entry.upto <= kept.first);
}

import type { Random } from "@scrollback/conformance/internal";
import type { Revision } from "@scrollback/store-core";
import type { DriverCapabilities, ReadRequest } from "@scrollback/store-core/driver";
import { createText, keyOf, type Operation, type Text } from "./operation.ts";
import type { Profile } from "./profiles.ts";
import type { Deletion } from "./simulated-call.ts";

/** The state of the thread for which an operation is made, as far as the test knows it. */
export interface Ground {
  readonly threadId: string;
  readonly revision: Revision | null;
  /** The sequence number of the next message. */
  readonly next: number;
}

const addition = { drop: 0, metadata: undefined, expectedRevision: undefined } as const;

/** Draws the operations of a run, and keeps them by their identity. */
export class Workload {
  readonly operations = new Map<string, Operation>();
  readonly texts = new Map<string, Text>();
  /** Operations whose caller died or gave up. */
  readonly orphans: Operation[] = [];
  readonly #random: Random;
  readonly #profile: Profile;
  readonly #limits: Pick<DriverCapabilities, "maxCommitMessages" | "maxCommitBytes">;
  /** The threads that have had an operation. */
  readonly #begun = new Set<string>();
  #count = 0;

  constructor(
    random: Random,
    profile: Profile,
    limits: Pick<DriverCapabilities, "maxCommitMessages" | "maxCommitBytes">,
  ) {
    this.#random = random;
    this.#profile = profile;
    this.#limits = limits;
  }

  /** A unique name of a caller. */
  callerName(): string {
    return `caller ${++this.#count}`;
  }

  /** The next operation of a thread: most append a message or two. */
  draw(ground: Ground): Operation {
    const random = this.#random;
    const id = this.#id();
    const size = random.next();
    const isCold = this.#profile.depth === "cold";
    const count =
      size < 0.6
        ? 1
        : size < 0.8
          ? isCold
            ? 4 + random.below(6)
            : 2
          : size < 0.86
            ? 4 + random.below(6)
            : 0;
    const drop = this.#drawDrop();
    const meta = random.next();
    const setsMetadata = (count === 0 && drop === 0) || meta < 0.15;
    const metadata = setsMetadata ? this.#text(`${id}:m`, "m", 1) : meta < 0.18 ? null : undefined;
    const isClear = drop === "all" && random.chance(0.5);
    return this.#create(ground, id, {
      drop,
      append: this.#drawMessages(ground, id, count, setsMetadata),
      metadata: isClear ? null : metadata,
      expectedRevision: this.#drawExpected(ground.revision),
    });
  }

  /**
   * Operations that are committed at once: most append messages, with the same expiry. Some are from before: their caller died or gave
   * up, or their id is used again.
   */
  drawBurst(ground: Ground, most: number): Operation[] {
    const random = this.#random;
    const settings = this.#drawSettings();
    const [others, otherLimits] = [random.pick(0, 0.05, 0.3), random.pick(0, 0.5)];
    const [callersIds, known] = [random.pick(0, 0.5, 1), random.pick(0, 0.1)];
    return Array.from({ length: 2 + random.below(most - 1) }, () => {
      if (random.chance(others)) return this.draw(ground);
      if (random.chance(known)) return this.#drawKnown(ground) ?? this.drawAppend(ground);
      const id = this.#id();
      const append = this.#drawMessages(ground, id, 1 + random.below(3), false);
      const { ttlMs } = settings;
      const own = random.chance(otherLimits) ? { ...this.#drawSettings(), ttlMs } : settings;
      return this.#create(ground, id, { ...addition, append }, !random.chance(callersIds), own);
    });
  }

  /** Drops the newest message, as a store's `popMessage` does. */
  drawPop(ground: Ground, expectedRevision: Revision | null): Operation {
    const change = { drop: 1, append: [], metadata: undefined, expectedRevision };
    return this.#create(ground, this.#id(), change);
  }

  drawDeletion({ threadId, revision }: Ground): Deletion {
    const kind = this.#random.next();
    const expectedRevision =
      kind < 0.15 ? revision : kind < 0.2 ? null : kind < 0.25 ? "AAAAAAAAAAAAAAAA.7" : undefined;
    return { id: this.#id(), threadId, expectedRevision, began: undefined, made: undefined };
  }

  /** Adds one message. */
  drawAppend(ground: Ground): Operation {
    const id = this.#id();
    return this.#create(ground, id, { ...addition, append: [this.#text(`${id}:0`, "u", 2)] });
  }

  /** Another change under an id that was used before. */
  drawReuse(ground: Ground, { id }: Operation): Operation {
    const name = `${id}.${++this.#count}`;
    return this.#create(ground, id, { ...addition, append: [this.#text(name, "u", 2)] }, false);
  }

  /** An operation of the thread that a caller left unfinished, or else another change under the id of one that was made. */
  #drawKnown(ground: Ground): Operation | undefined {
    const { threadId } = ground;
    const orphan = this.orphans.findIndex((operation) => operation.threadId === threadId);
    if (orphan >= 0) return this.orphans.splice(orphan, 1)[0];
    const recent = [...this.operations.values()].slice(-100);
    const used = recent.filter((one) => one.threadId === threadId && one.isSent && !one.hasOwnId);
    const operation = this.#one(used);
    return operation && this.drawReuse(ground, operation);
  }

  drawRead(next: number): Pick<ReadRequest, "limit" | "before" | "after" | "metadata"> {
    const random = this.#random;
    const kind = random.next();
    const all = Number.POSITIVE_INFINITY;
    const whole = { limit: all, before: undefined, after: undefined, metadata: true };
    if (kind < 0.4) return whole;
    const limit = 1 + random.below(random.chance(0.2) ? 200 : 20);
    if (kind < 0.65) return { ...whole, limit, metadata: random.chance(0.5) };
    const sequence = random.below(Math.max(1, next)) + random.below(3);
    if (kind < 0.8) return { ...whole, limit, before: sequence, metadata: false };
    if (kind < 0.92) return { ...whole, limit, after: sequence, metadata: random.chance(0.3) };
    return { ...whole, limit: 0 };
  }

  #id(): string {
    return `o${++this.#count}`;
  }

  #create(
    { threadId }: Ground,
    id: string,
    change: Pick<Operation, "drop" | "append" | "metadata" | "expectedRevision">,
    // Callers gave the ids of the other half.
    hasOwnId = this.#count % 2 === 0,
    settings?: Operation["settings"],
  ): Operation {
    const operation: Operation = {
      id,
      digest: `digest-${++this.#count}`.padEnd(22, "-"),
      threadId,
      ...change,
      settings: settings ?? this.#drawSettings(),
      newIncarnation: `i${this.#count}`.padEnd(16, "-"),
      hasOwnId,
      isSent: false,
      commits: [],
    };
    this.operations.set(keyOf(operation), operation);
    return operation;
  }

  #drawSettings(): Operation["settings"] {
    const { ttls, limits, trimmings } = this.#profile;
    return {
      maxMessages: this.#one(limits),
      trimming: this.#one(trimmings) ?? "turns",
      ttlMs: this.#one(ttls),
    };
  }

  #drawMessages({ threadId }: Ground, id: string, wanted: number, setsMetadata: boolean): Text[] {
    const { maxCommitMessages } = this.#limits;
    const count = Math.min(wanted, maxCommitMessages - (setsMetadata ? 1 : 0));
    const isFirst = count > 0 && !this.#begun.has(threadId);
    if (isFirst) this.#begun.add(threadId);
    return Array.from({ length: count }, (_, index) => {
      const kind = isFirst && index === 0 ? "s" : (this.#one(this.#profile.kinds) ?? "u");
      return this.#text(`${id}:${index}`, kind, count + 1);
    });
  }

  /** @param share the number of such texts that must fit a commit. */
  #text(name: string, kind: Text["kind"], share: number): Text {
    const { largeTexts } = this.#profile;
    const isLarge = largeTexts === 1 || (largeTexts > 0 && this.#random.chance(largeTexts));
    const room = isLarge ? (this.#limits.maxCommitBytes * 0.7) / share : 0;
    // Small texts, texts that fill a row, and texts that need several rows.
    const size = this.#random.next() ** 2 * Math.min(room, 6_000);
    const text = createText(name, kind, size);
    this.texts.set(name, text);
    return text;
  }

  #drawDrop(): number | "all" {
    const random = this.#random;
    const { depth } = this.#profile;
    const isDeep = depth === "deep";
    const kind = random.next();
    if (kind < 0.8) return 0;
    if (kind < 0.9) return 1;
    if (kind < 0.93) return 2 + random.below(6);
    if (depth === "cold") return kind < 0.935 ? 50 + random.below(400) : kind < 0.9355 ? "all" : 0;
    if (kind < (isDeep ? 0.94 : 0.935)) return isDeep ? 40 + random.below(60) : 120;
    return kind < (isDeep ? 0.942 : 0.95) ? "all" : 0;
  }

  #drawExpected(revision: Revision | null): Revision | null | undefined {
    const kind = this.#random.next();
    if (kind < 0.05) return revision;
    if (kind < 0.06) return null;
    return kind < 0.07 ? "AAAAAAAAAAAAAAAA.7" : undefined;
  }

  #one<T>(values: readonly T[]): T | undefined {
    return values[this.#random.below(values.length)];
  }
}

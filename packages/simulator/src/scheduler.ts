interface ScheduledEvent {
  readonly time: number;
  readonly order: number;
  readonly run: () => void;
}

/** The kinds of steps. The numbers are part of the trace's hash. */
const steps = {
  call: 1,
  settled: 2,
  sent: 3,
  effect: 4,
  reply: 5,
  lost: 6,
  crash: 7,
  sweep: 8,
  sleep: 9,
  jump: 10,
} as const;
export type StepName = keyof typeof steps;

/** The number of newest steps in a trace. */
const TRACE_LENGTH = 4_000;
/** The real time in milliseconds after which the event loop gets a turn, so that this process can reply. */
const TURN_MS = 100;

/**
 * Virtual time: events happen one after another in the order of their times, without real waits. The code runs
 * asynchronously as usual: before the next event, everything that the previous event resolved runs to its next wait.
 */
export class Scheduler {
  /** Milliseconds since 1970, with fractions. */
  now: number;
  /** The number of events at clients and at the backend. */
  steps = 0;
  /** The newest steps as text, if a trace was requested. */
  readonly trace: string[] | undefined;
  readonly #heap: ScheduledEvent[] = [];
  readonly #float = new Float64Array(1);
  readonly #words = new Int32Array(this.#float.buffer);
  #order = 0;
  #hash = 0x811c9dc5 | 0;
  #hasSettled = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(now: number, isTraced: boolean) {
    this.now = now;
    this.trace = isTraced ? [] : undefined;
  }

  /** Equal for two runs if they took the same steps at the same times, and very probably different otherwise. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  /** Counts and notes a step. `subject` distinguishes steps of a kind: a request's number, for example. */
  step(name: StepName, client: number, subject: number, words?: string): void {
    this.steps += 1;
    this.#mix(steps[name] * 256 + client);
    this.#mixFloat(this.now);
    this.#mixFloat(subject);
    if (!this.trace) return;
    const time = new Date(this.now).toISOString();
    this.trace.push(`${time} client ${client} ${name} ${words ?? subject}`);
    if (this.trace.length > 2 * TRACE_LENGTH) this.trace.splice(0, TRACE_LENGTH);
  }

  at(time: number, run: () => void): void {
    const event = { time: Math.max(time, this.now), order: this.#order++, run };
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = heap[parent] as ScheduledEvent;
      if (isBefore(above, event)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  /** To be called by an event that settled a promise. */
  settled(): void {
    this.#hasSettled = true;
  }

  /** Ends the run: `run` rejects with the error. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Runs events until there are none, or until the run fails. */
  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      let turnEnds = performance.now() + TURN_MS;
      const runEvents = () => {
        try {
          for (let count = 0; !this.#failure; count++) {
            const event = this.#takeFirst();
            if (!event) return resolve();
            this.now = event.time;
            event.run();
            if (this.#hasSettled || count > 10_000) {
              this.#hasSettled = false;
              return void Promise.resolve().then(afterMicrotasks);
            }
          }
          reject(this.#failure.error);
        } catch (error) {
          reject(error);
        }
      };
      // A tick that a microtask requests comes after all microtasks.
      const afterMicrotasks = () => {
        if (performance.now() < turnEnds) return process.nextTick(runEvents);
        setImmediate(() => {
          turnEnds = performance.now() + TURN_MS;
          runEvents();
        });
      };
      Promise.resolve().then(afterMicrotasks);
    });
  }

  #takeFirst(): ScheduledEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (
        child + 1 < heap.length &&
        isBefore(heap[child + 1] as ScheduledEvent, heap[child] as ScheduledEvent)
      )
        child += 1;
      const below = heap[child] as ScheduledEvent;
      if (isBefore(last, below)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
    return first;
  }

  #mixFloat(value: number): void {
    this.#float[0] = value;
    this.#mix(this.#words[0] ?? 0);
    this.#mix(this.#words[1] ?? 0);
  }

  #mix(word: number): void {
    const mixed = Math.imul(this.#hash ^ word, 0x01000193);
    this.#hash = mixed ^ (mixed >>> 15);
  }
}

function isBefore(a: ScheduledEvent, b: ScheduledEvent): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

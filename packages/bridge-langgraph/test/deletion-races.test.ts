import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, metadata, putValues, threadIds } from "./checkpoints.ts";
import { GatedDriver } from "./gated-driver.ts";

const long = "x".repeat(40_000);
/** The deep plan pauses the calls at every pair of requests, the others at every second pair. */
const STEP = rounds(2, 1);

/** The first calls of a saver, and its calls while another saver deletes the thread. */
interface Scenario {
  readonly before: (saver: ScrollbackSaver) => Promise<unknown>;
  readonly during: (saver: ScrollbackSaver) => Promise<unknown>;
}

const put = (id: string, parent?: string, namespace?: string) => (saver: ScrollbackSaver) =>
  putValues(saver, configOf("t", parent, namespace), id, { long, id });
const putWrites = (id: string) => (saver: ScrollbackSaver) =>
  saver.putWrites(
    configOf("t", id),
    [
      ["n", "secret"],
      ["long", long],
    ],
    "task",
  );

const scenarios: Readonly<Record<string, Scenario>> = {
  "the first put of a thread": { before: async () => {}, during: put("1") },
  "a put to a running thread": { before: put("1"), during: put("2", "1") },
  "the first put of a namespace": { before: put("1"), during: put("2", undefined, "child") },
  "writes of a checkpoint": { before: put("1"), during: putWrites("1") },
  "writes before their checkpoint": { before: put("1"), during: putWrites("2") },
  "writes before anything else": { before: async () => {}, during: putWrites("1") },
};

/** A call of a subgraph for a checkpoint of the thread that a prune drops. */
const callOf =
  (id: string, parent?: string, namespace = "child:1") =>
  (saver: ScrollbackSaver) =>
    saver.put(
      configOf("t", parent, namespace),
      { ...emptyCheckpoint(), id, channel_values: { long }, channel_versions: { long: 1 } },
      { ...metadata, parents: { "": "1" } },
      { long: 1 },
    );

const beforePrune = async (saver: ScrollbackSaver) => {
  await put("1")(saver);
  await callOf("1.1")(saver);
  await callOf("1.1", undefined, "child:2")(saver);
  for (const id of ["2", "3"]) await put(id)(saver);
};

const pruned: Readonly<Record<string, Scenario>> = {
  "a put to a call of a subgraph": { before: beforePrune, during: callOf("1.2", "1.1") },
  "the first put of a call of a subgraph": { before: beforePrune, during: callOf("1.2", undefined, "child") },
  "a put of the thread": { before: beforePrune, during: put("4", "3") },
};

/** Stops one call at one of its requests, and resumes it later. */
class Stop {
  at = Number.POSITIVE_INFINITY;
  readonly #reached = Promise.withResolvers<void>();
  readonly #passed = Promise.withResolvers<void>();
  readonly reached = this.#reached.promise;

  async before(request: number): Promise<void> {
    if (request !== this.at) return;
    this.#reached.resolve();
    await this.#passed.promise;
  }

  pass(): void {
    this.at = Number.POSITIVE_INFINITY;
    this.#passed.resolve();
  }
}

function gated(driver: Driver) {
  const stop = new Stop();
  const gate = new GatedDriver(driver, (request) => stop.before(request));
  return { stop, gate, saver: new ScrollbackSaver({ stores: createStores(gate) }) };
}

/** Either the thread is listed, readable and deletable, or none of its data is stored. */
async function expectNoOrphans(driver: Driver, where: string): Promise<void> {
  const stores = createStores(driver);
  const reader = new ScrollbackSaver({ stores });
  const stored = await threadIds(stores);
  const found = await listed(reader.list({}));
  for (const { checkpoint } of found) expect(checkpoint.channel_values.long, where).toBe(long);
  expect(await listed(reader.list(configOf())), where).toHaveLength(
    found.filter(({ config }) => config.configurable?.checkpoint_ns === "").length,
  );
  for (const namespace of ["", "child", "child:1", "child:2"]) {
    const latest = await reader.getTuple(configOf("t", undefined, namespace));
    const isListed = found.some(({ config }) => config.configurable?.checkpoint_ns === namespace);
    expect(latest !== undefined, where).toBe(isListed);
  }
  if (stored.length > 0) expect(stored, where).toContain("langgraph:thread:t");
  await reader.deleteThread("t");
  expect(await threadIds(stores), where).toEqual([]);
  expect(await listed(reader.list({})), where).toEqual([]);
}

/**
 * The first call stops at one of its requests, the second call runs up to one of its own requests, the first one completes,
 * then the second one completes. So each sequence of requests of one call runs between any two requests of the other.
 */
async function interleave(
  scenario: Scenario,
  remove: (saver: ScrollbackSaver) => Promise<unknown>,
  isWriterFirst: boolean,
  first: number,
  second: number,
) {
  const driver = new MemoryDriver();
  const writer = gated(driver);
  await scenario.before(writer.saver);
  const deleter = gated(driver);
  const calls = [
    { ...writer, call: () => scenario.during(writer.saver) },
    { ...deleter, call: () => remove(deleter.saver) },
  ] as const;
  const [a, b] = isWriterFirst ? calls : ([calls[1], calls[0]] as const);
  a.stop.at = a.gate.requests + first;
  b.stop.at = b.gate.requests + second;
  const callA = a.call();
  const isStoppedA = await Promise.race([a.stop.reached.then(() => true), callA.then(() => false)]);
  const callB = b.call();
  const isStoppedB = await Promise.race([b.stop.reached.then(() => true), callB.then(() => false)]);
  a.stop.pass();
  await callA;
  b.stop.pass();
  await callB;
  return { driver, isStoppedA, isStoppedB };
}

const deletion = (saver: ScrollbackSaver) => saver.deleteThread("t");
const prune = (saver: ScrollbackSaver) => saver.prune({ threadId: "t", keep: 1 });
const pairsOfCalls = [
  ...Object.entries(scenarios).map((entry) => [...entry, "a deletion", deletion] as const),
  ...Object.entries(pruned).map((entry) => [...entry, "a prune", prune] as const),
];

for (const [title, scenario, what, remove] of pairsOfCalls) {
  for (const isWriterFirst of [true, false]) {
    const order = isWriterFirst ? "inside it" : "around it";
    test(`${title} and ${what} ${order}, paused at any two requests: the thread can be deleted, or nothing of it is stored`, async () => {
      let pairs = 0;
      for (let first = 0, isStoppedA = true; isStoppedA; first++) {
        for (let second = first % STEP, isStoppedB = true; isStoppedB; second += STEP) {
          const raced = await interleave(scenario, remove, isWriterFirst, first, second);
          ({ isStoppedA, isStoppedB } = raced);
          await expectNoOrphans(raced.driver, `stopped at ${first} and ${second}`);
          pairs += 1;
        }
      }
      expect(pairs).toBeGreaterThan(4);
    });
  }
}

import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { backendKeys } from "../benchmarks/src/backend.ts";
import { MARGIN, regressions } from "../benchmarks/src/compare.ts";
import {
  type CallRow,
  type ChatFigures,
  type Figures,
  type FrameworkFigures,
  type FrameworkRow,
  type Load,
  type LoadRow,
  loadResults,
  type Results,
  saveResults,
  type Timing,
  timingOf,
} from "../benchmarks/src/figures.ts";
import { costsPage, pictures } from "../benchmarks/src/pages/costs.ts";
import { pagesOf } from "../benchmarks/src/pages/pages.ts";
import { draw } from "../benchmarks/src/pages/plots.ts";
import { report } from "../benchmarks/src/pages/report.ts";
import { judge, judgeChats, judgeFrameworks } from "../benchmarks/src/targets.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "scrollback-bench-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const timing = (medianMs: number): Timing => ({
  medianMs,
  percentile95Ms: 2 * medianMs,
  percentile99Ms: 3 * medianMs,
  longestMs: 4 * medianMs,
  calls: 100,
});

/** The same rows for each operation: the raw client takes 1 ms. */
function callsOf(ours: (row: Omit<CallRow, "results">) => number, peer: number): CallRow[] {
  const rows = (["append 1", "append 20", "newest 20"] as const).flatMap((operation) =>
    [10, 1_000, 100_000].map(
      (length) =>
        ({
          operation,
          kind: operation === "newest 20" ? "read" : "commit",
          length,
        }) satisfies Partial<CallRow>,
    ),
  );
  return rows.map((row) => ({
    ...row,
    results: {
      raw: { ...timing(1), roundTrips: 1 },
      Scrollback: { ...timing(ours(row)), roundTrips: 1 },
      "LangChain.js": timing(peer),
    },
  }));
}

const loadOf = (perSecond: number, longestMs = 10): Load => ({
  ...timing(1),
  longestMs,
  perSecond,
  failures: 0,
  clientCpuMicros: 100,
  serverCpuMicros: 50,
});

/** Threads and clients of the measured writers. */
const setups = [
  { threads: "many", clients: "many" },
  { threads: "one", clients: "one" },
  { threads: "one", clients: "many" },
] as const;
const machine = { cores: 2, node: "24", date: "2026-01-01", load: [1, 2] };
const figures: Figures = {
  key: "mongodb",
  title: "MongoDB",
  versions: ["MongoDB 8", "mongodb 7"],
  baseline: "insertOne",
  machine,
  calls: callsOf(() => 1.1, 60),
  load: setups.map((setup) => ({
    connections: 8,
    ...setup,
    batch: 1,
    results: { raw: loadOf(1_000), Scrollback: loadOf(900) },
  })),
  cold: [],
  tracing: {
    off: { ...timing(1), clientCpuMicros: 10 },
    api: { ...timing(1), clientCpuMicros: 20 },
    sdk: { ...timing(1), clientCpuMicros: 30 },
  },
};
/** Rows for each number of connections in the charts. A slower row uses more CPU time. */
const loads = (perSecond: number): LoadRow[] =>
  [1, 8, 64].flatMap((connections) =>
    setups.map((setup) => ({
      connections,
      ...setup,
      batch: 1,
      results: {
        raw: loadOf(1_000),
        Scrollback: { ...loadOf(perSecond), clientCpuMicros: 100_000 / perSecond },
      },
    })),
  );
const codecs: Results["codecs"] = { machine, rows: [] };
const deltaCost = { answers: 10, shortCpuMicros: 2_000, longCpuMicros: 52_000, deltaCpuMicros: 100 };
const chats: ChatFigures = {
  machine,
  versions: ["SQLite 3"],
  rows: (["list 30", "store a turn"] as const).flatMap((operation) =>
    [100, 10_000].map((count) => ({
      operation,
      chats: count,
      results: {
        raw: { ...timing(0.5), cpuMicros: 500 },
        Scrollback: { ...timing(1), cpuMicros: 2_000, requests: operation === "list 30" ? 1 : 6 },
      },
    })),
  ),
  deltas: { short: 10, long: 510, plain: deltaCost, handler: { ...deltaCost, deltaCpuMicros: 150 } },
  tabs: [
    { name: "files", tabs: 40, rounds: 2, fewestKept: 1, mostKept: 3, medianMs: 10 },
    { name: "Scrollback", tabs: 40, rounds: 2, fewestKept: 40, mostKept: 40, medianMs: 20 },
  ],
};

const frameworkRow = (fields: Partial<FrameworkRow>): FrameworkRow => ({
  ...{ framework: "LangGraph", backend: "PostgreSQL", name: "ScrollbackSaver", isOurs: true },
  ...{ ...timing(4), cpuMicros: 900 },
  ...fields,
});
const ourCounts = { commits: 5.5, reads: 2, roundTrips: 8, bytes: 12_345 };
const frameworks: FrameworkFigures = {
  machine,
  versions: ["@langchain/langgraph 1"],
  turns: 10,
  rows: [
    frameworkRow({ name: "MemorySaver", backend: "memory", isOurs: false, ...timing(2) }),
    frameworkRow({ name: "PostgresSaver", isOurs: false, ...timing(5), roundTrips: 20 }),
    frameworkRow(ourCounts),
    frameworkRow({ framework: "OpenAI Agents SDK", name: "ScrollbackSession", commits: 1, reads: 1 }),
  ],
};

describe("the targets", () => {
  const missed = (changed: Partial<Figures>) =>
    judge({ ...figures, ...changed })
      .filter(({ met }) => !met)
      .map(({ target, worst }) => `${target}, ${worst}`);

  test("are met by figures within them", () => {
    expect(judge(figures)).toHaveLength(11);
    expect(missed({})).toEqual([]);
  });

  test("are compared with the worst figure, which is reported", () => {
    const slow = callsOf(
      ({ operation, length }) => (operation === "append 1" && length === 1_000 ? 1.3 : 1.1),
      60,
    );
    expect(missed({ calls: slow })).toEqual(["append 1 / raw: at most 1.25, 1.3, append 1 at 1,000"]);
    const read = callsOf(({ kind }) => (kind === "read" ? 1.21 : 1.1), 60);
    expect(missed({ calls: read })).toEqual(["read / raw: at most 1.2, 1.21, newest 20 at 10"]);
  });

  test("show a figure with as many decimals as tell it from the target", () => {
    const slow = callsOf(({ kind }) => (kind === "read" ? 1.2004 : 1.1), 60);
    expect(missed({ calls: slow })).toEqual(["read / raw: at most 1.2, 1.2004, newest 20 at 10"]);
    const equal = callsOf(({ kind }) => (kind === "read" ? 1.2 : 1.1), 60);
    const verdict = judge({ ...figures, calls: equal }).find(({ target }) => target.startsWith("read"));
    expect(verdict).toMatchObject({ worst: "1.2, newest 20 at 10", met: true });
  });

  test("detect work that grows with the thread", () => {
    const growing = callsOf(({ length }) => (length === 100_000 ? 1.24 : 1.1), 70);
    expect(missed({ calls: growing })).toEqual([
      "read / raw: at most 1.2, 1.24, newest 20 at 100,000",
      "append at 100,000 / at 10: at most 1.1, 1.13, append 1",
    ]);
  });

  test("detect writers slower than raw, and commits that wait long", () => {
    const load = (perSecond: number, longestMs: number) =>
      figures.load.map((row) => ({
        ...row,
        results: { ...row.results, Scrollback: loadOf(perSecond, longestMs) },
      }));
    expect(missed({ load: load(500, 10) })).toEqual([
      "8 factories on 8 threads, commits per second / raw: at least 0.8, 0.5, 8 clients, many threads",
    ]);
    expect(missed({ load: load(300, 10) })).toHaveLength(3);
    expect(missed({ load: load(900, 1_000) })).toEqual([
      "8 writers on one thread, longest wait / mean: at most 50, 112.5, 1000 ms, 8 writers of one client, one thread",
    ]);
  });

  test("detect a faster library, and a batch that is not fast enough", () => {
    expect(missed({ calls: callsOf(() => 1.1, 0.9) })).toEqual([
      "batch of 20, LangChain.js / ours: at least 50, 0.82, append 20 at 10, LangChain.js",
      "any call, ours / another library: at most 1.1, 1.22, append 1 at 10, LangChain.js",
    ]);
    const [batch] = missed({ calls: callsOf(() => 1.1, 44) });
    expect(batch).toMatch(/^batch of 20.* 40, append 20/);
  });

  test("are missed by NaN", () => {
    const calls = callsOf(() => Number.NaN, 60);
    expect(missed({ calls })).toEqual(expect.arrayContaining([expect.stringContaining("append 1 / raw")]));
  });
});

describe("the targets of chats", () => {
  const missed = (changed: Partial<ChatFigures>) =>
    judgeChats({ ...chats, ...changed })
      .filter(({ met }) => !met)
      .map(({ target, worst }) => `${target}, ${worst}`);
  /** The figures, with changed figures of Scrollback at 10,000 chats. */
  const changedRows = (operation: string, change: { requests?: number; cpuMicros?: number }) =>
    chats.rows.map((row) => {
      const { Scrollback } = row.results;
      const isChanged = row.operation === operation && row.chats === 10_000;
      return isChanged && Scrollback
        ? { ...row, results: { ...row.results, Scrollback: { ...Scrollback, ...change } } }
        : row;
    });

  test("are met by figures within them", () => {
    expect(judgeChats(chats)).toHaveLength(3);
    expect(missed({})).toEqual([]);
  });

  test("detect a list with more requests, a slow turn, and a lost message", () => {
    expect(missed({ rows: changedRows("list 30", { requests: 2 }) })).toEqual([
      "requests of a list of 30: at most 1, 2, 10,000 chats",
    ]);
    expect(missed({ rows: changedRows("store a turn", { cpuMicros: 5_100 }) })).toEqual([
      "processor time of a stored turn on SQLite, ms: at most 5, 5.1, 10,000 chats",
    ]);
    const tabs = chats.tabs.map((row) => ({ ...row, fewestKept: 39 }));
    expect(missed({ tabs })).toEqual([
      "messages kept of those that 40 tabs add concurrently: at least 40, 39, the worst of 2 rounds",
    ]);
  });

  test("are missed by values that were not counted", () => {
    expect(missed({ rows: changedRows("list 30", { requests: Number.NaN }) })).toHaveLength(1);
  });
});

describe("the targets of frameworks", () => {
  const missed = (changed: Partial<FrameworkRow>) => {
    const rows = frameworks.rows.map((row) =>
      row.name === "ScrollbackSaver" ? { ...row, ...changed } : row,
    );
    return judgeFrameworks({ ...frameworks, rows })
      .filter(({ met }) => !met)
      .map(({ target, worst }) => `${target}, ${worst}`);
  };

  test("are met by figures within them", () => {
    expect(judgeFrameworks(frameworks)).toHaveLength(3);
    expect(missed({})).toEqual([]);
  });

  test("detect a turn with more requests, and one slower than the framework's own", () => {
    expect(missed({ commits: 7 })).toEqual([
      "commits and reads of a LangGraph turn: at most 8, 9, PostgreSQL",
    ]);
    expect(missed(timing(6))).toEqual([
      "a turn on a server, ours / the framework's: at most 1.1, 1.2, PostgresSaver",
    ]);
  });

  test("are missed by values that were not counted", () => {
    expect(missed({ commits: Number.NaN })).toHaveLength(1);
  });
});

describe("the comparison with the last full run", () => {
  test("lets noise pass", () => {
    const noisy = { ...figures, calls: callsOf(() => 1.1 * (MARGIN - 0.05), 60) };
    expect(regressions([figures], [noisy])).toEqual([]);
  });

  test("names each ratio that is much worse", () => {
    const slow = callsOf(
      ({ operation, length }) => (operation === "append 1" && length === 10 ? 2.2 : 1.1),
      60,
    );
    expect(regressions([figures], [{ ...figures, calls: slow }])).toEqual([
      { key: "mongodb", what: "append 1 at 10", before: 1.1, now: 2.2 },
    ]);
    const load = figures.load.map((row) => ({
      ...row,
      results: { ...row.results, Scrollback: loadOf(450) },
    }));
    expect(regressions([figures], [{ ...figures, load }]).map(({ what }) => what)).toEqual([
      "8 clients, many threads",
    ]);
    const broken = { ...figures, calls: callsOf(() => Number.NaN, 60) };
    expect(regressions([figures], [broken])).not.toEqual([]);
  });

  test("compares only figures that the full run has", () => {
    expect(regressions([], [figures])).toEqual([]);
    expect(regressions([figures], [{ ...figures, key: "redis", calls: callsOf(() => 9, 60) }])).toEqual([]);
  });
});

describe("the figures", () => {
  test("a backend's figures replace its last ones, and those of others are kept, in the order of the report", () => {
    const path = join(folder, "results.json");
    expect(loadResults(path)).toBeUndefined();
    saveResults(path, { backends: [{ ...figures, title: "old" }] });
    saveResults(path, { backends: [{ ...figures, key: "redis" }] });
    saveResults(path, { codecs });
    saveResults(path, { chats });
    saveResults(path, { frameworks });
    const all = { backends: [{ ...figures, key: "redis" }, figures], codecs, chats, frameworks };
    expect(saveResults(path, { backends: [figures] })).toEqual(all);
    expect(loadResults(path)).toEqual(all);
  });

  test("a timing is that of its calls", () => {
    const times = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(timingOf(times)).toEqual({
      medianMs: 100.5,
      percentile95Ms: 190,
      percentile99Ms: 198,
      longestMs: 200,
      calls: 200,
    });
  });
});

describe("the pages", () => {
  const results: Results = { backends: [figures], codecs, chats, frameworks };

  test("show each figure, and missed targets", () => {
    const text = report(results);
    expect(text).toMatch(
      /\| append 1 +\| 100,000 \| +1·1·- \| 1\.00 \(2\.00\) \| 1\.10 \(2\.20\) \| 1\.10 \|/,
    );
    expect(text).toContain("2026-01-01, Node 24, 2 cores; load average 1.0 at the start, 2.0 at the end\n");
    const slow = { ...figures, calls: callsOf(() => 2, 60) };
    expect(report({ ...results, backends: [slow] })).toMatch(
      /append 1 \/ raw: at most 1\.25 +\| 2, append 1 at 10 +\| missed \|/,
    );
  });

  test("show the costs of chats, and how many messages of tabs were kept", () => {
    const text = report(results);
    expect(text).toMatch(
      /\| list 30 +\| 10,000 \| +1 \| 0\.500 \(1\.00\) \| +1\.00 \(2\.00\) \| +- \| +500 \|/,
    );
    expect(text).toMatch(/\| a delta +\| +100 \| +150 \| +1\.50 \|/);
    expect(text).toMatch(/\| files +\| 1 to 3 of 40 \|/);
    expect(text).toMatch(/\| Scrollback +\| +40 of 40 \|/);
    expect(text).toMatch(/\| Chats +\| requests of a list of 30: at most 1 +\| 1, /);
  });

  test("show the costs of turns of frameworks", () => {
    const text = report(results);
    expect(text).toMatch(
      /\| ScrollbackSaver \| PostgreSQL \| 4\.00 \(8\.00\) \| 2\.00 \| 900 \| +5\.5 \| +2 \| +8 \| 12,345 \|/,
    );
    expect(text).toMatch(
      /\| PostgresSaver +\| PostgreSQL \| 5\.00 \(10\.0\) +\| 2\.50 \| 900 \| +- \| +- \| +20 \| +- \|/,
    );
    expect(text).toMatch(/\| Frameworks +\| commits and reads of a LangGraph turn: at most 8 +\| 7\.5, /);
  });

  test("show what bounds the targets", () => {
    const bounded = { ...figures, calls: callsOf(() => 1.1, 0.5), load: loads(400) };
    const text = report({ ...results, backends: [bounded] });
    expect(text).toMatch(/\| MongoDB 8 \| +0\.40 \| +0\.50 \| +1\.00 \|/);
    expect(text).toMatch(/\| MongoDB 8 \| newest 20 at 100,000 \| LangChain\.js \| +2\.00 \|/);
    expect(text).toContain("keep 0.12 to 0.15 cores busy");
  });

  test("leave out writers that were not measured", () => {
    const ofOneFactory = (pages: Map<string, string>) =>
      [...pages].filter(([, text]) => /8 (?:writers )?of one/.test(text)).map(([path]) => path);
    expect(ofOneFactory(pagesOf(root, results))).toContain("docs/generated/costs.md");
    const load = figures.load.filter(({ clients }) => clients === "many");
    const fewer = pagesOf(root, { ...results, backends: [{ ...figures, load }] });
    expect(ofOneFactory(fewer)).toEqual([]);
  });

  test("report a busy machine", () => {
    expect(costsPage(results)).toContain(
      "Nothing else ran on the machine: its load average was at most 2.0 on 2 cores,",
    );
    const busy = { ...figures, machine: { ...machine, load: [9, 12] } };
    const text = costsPage({ ...results, backends: [busy] });
    expect(text).toContain(
      "**The machine was busy with other work in this run** (load average 9 to 12 on 2 cores)",
    );
  });

  test.each(Object.entries(draw))("have a picture of %s that changes with the figures", (name, drawn) => {
    const one = { ...figures, load: loads(900) };
    const svg = drawn([one]);
    expect(svg).toMatch(/^<svg .*<\/svg>\n$/s);
    expect(svg).toContain(`role="img"><title>${pictures[name as keyof typeof pictures]}</title>`);
    expect(svg).toContain(figures.title);
    expect(drawn([one])).toBe(svg);
    expect(drawn([{ ...one, calls: callsOf(() => 3, 60), load: loads(300) }])).not.toBe(svg);
  });

  test("are what the script generates from benchmarks/results.json", async () => {
    const last = loadResults(join(root, "benchmarks/results.json"));
    if (!last) throw new Error("there are no results of a full run");
    expect(last.backends.map(({ key }) => key)).toEqual([...backendKeys]);
    for (const [path, text] of pagesOf(root, last)) {
      expect(await readFile(join(root, path), "utf8"), `${path}: run npm run bench -- --render`).toBe(text);
    }
    for (const [name, drawn] of Object.entries(draw)) {
      const picture = await readFile(join(root, `docs/generated/costs/${name}.svg`), "utf8");
      expect(picture, `${name}: run npm run bench -- --render`).toBe(drawn(last.backends));
    }
  });
});

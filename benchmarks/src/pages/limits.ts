import { type BackendKey, peerNames } from "../backend.ts";
import type { Figures, LoadRow } from "../figures.ts";
import { loadRows, medianOf, nameOf, PEER_MARGIN, singleWriterRow } from "../targets.ts";
import { rangeText, serverColumn, serverOf } from "./summary.ts";
import { type Column, ratioText, table } from "./table.ts";

const recordLogs: readonly BackendKey[] = ["mongodb", "dynamodb"];

/** The bounds of some targets that no faster client of Scrollback's could exceed, computed from the measurements. */
export function limitsText(backends: readonly Figures[]): string {
  const logs = backends.filter(({ key }) => recordLogs.includes(key));
  const slower = backends.flatMap(slowerThanPeers);
  return `Some targets cannot be met by making the client faster:

**8 factories on one thread of a record log.** Each row is inserted on the row before, so eight factories together cannot
commit faster than one. The raw client's writers do not wait for each other.

**8 factories on 8 threads.** Clients and server together keep ${coresText(logs)} cores busy, with the raw client and with Scrollback. So the
ratio of commits per second follows the ratio of processor time. The last column is that ratio for a client that takes only the raw client's time: the
server checks that a row is new, and trims, in any case.

${table<Figures>([serverColumn, ...bounds], logs)}

**Other libraries.** LangChain.js keeps a session in one document of MongoDB and in one item of DynamoDB. Calls for which even the raw client, which
reads one row per commit, takes more than ${PEER_MARGIN} times as long:

${table<Slower>(
  [
    { title: "", align: "left", text: ({ server }) => server },
    { title: "call", align: "left", text: ({ call }) => call },
    { title: "library", align: "left", text: ({ peer }) => peer },
    { title: "raw / library", align: "right", text: ({ ratio }) => ratio.toFixed(2) },
  ],
  slower,
)}`;
}

const bounds: readonly Column<Figures>[] = [
  {
    title: "one writer / 8 raw writers",
    align: "right",
    text: ({ load }) =>
      ratioText(
        singleWriterRow(load)?.results.Scrollback?.perSecond,
        loadRows(load, 8, "one", "many")[0]?.results.raw?.perSecond,
      ),
  },
  ...(["Scrollback", "raw"] as const).map(
    (client): Column<Figures> => ({
      title:
        client === "raw" ? "… with the raw client's processor time" : "processor time of 8 on 8, raw / ours",
      align: "right",
      text({ load }) {
        const results = loadRows(load, 8, "many", "many")[0]?.results ?? {};
        return ratioText(microsOf(results, "raw", "raw"), microsOf(results, client, "Scrollback"));
      },
    }),
  ),
];

/** How many cores the commits of 8 clients to 8 threads keep busy. */
function coresText(logs: readonly Figures[]): string {
  const used = logs.flatMap(({ load }) =>
    loadRows(load, 8, "many", "many").flatMap(({ results }) =>
      (["raw", "Scrollback"] as const).map(
        (name) =>
          ((microsOf(results, name, name) ?? Number.NaN) * (results[name]?.perSecond ?? Number.NaN)) / 1e6,
      ),
    ),
  );
  return rangeText(used, 2);
}

/** The processor time per commit of one contestant's client and of another one's server. */
function microsOf(
  results: LoadRow["results"],
  client: "raw" | "Scrollback",
  server: "raw" | "Scrollback",
): number | undefined {
  const [inClient, inServer] = [results[client]?.clientCpuMicros, results[server]?.serverCpuMicros];
  return inClient === undefined || inServer === undefined ? undefined : inClient + inServer;
}

interface Slower {
  readonly server: string;
  readonly call: string;
  readonly peer: string;
  readonly ratio: number;
}

/** The calls in which the raw client is slower than another library by more than the margin of the targets. */
function slowerThanPeers({ versions, calls }: Figures): Slower[] {
  return calls.flatMap((row) =>
    peerNames.flatMap((peer): Slower[] => {
      const ratio = medianOf(row, "raw") / medianOf(row, peer);
      return ratio > PEER_MARGIN ? [{ server: serverOf(versions), call: nameOf(row), peer, ratio }] : [];
    }),
  );
}

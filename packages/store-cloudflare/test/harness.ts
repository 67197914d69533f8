import { randomUUID } from "node:crypto";
import { type Harness, TcpProxy } from "@scrollback/conformance";
import { documentHarness } from "@scrollback/documents/conformance";
import { SqliteDocuments } from "@scrollback/documents/sqlite";
import { RemoteDriver } from "../src/remote-driver.ts";
import { connect, sendTo } from "./client.ts";
import { RawClient } from "./raw-client.ts";
import type { Workerd } from "./workerd.ts";

/** A namespace in workerd, with its tables. A prefix of D1's tables is also a name of an object, whose tables have the default prefix. */
export async function makeNamespace(port: number, kind: "d1" | "object") {
  const name = `t${randomUUID().replaceAll("-", "")}_`;
  const url = `http://127.0.0.1:${port}/${kind}/${name}`;
  const prefix = kind === "d1" ? name : "scrollback_";
  const raw = new RawClient(url);
  const documents = () => new SqliteDocuments(raw, prefix);
  await documents().setup();
  const rowsOf = async (name: string, tables: readonly (readonly [string, string])[]) => {
    const rows = await raw.batch(
      tables.map(([table, column]) => ({
        sql: `SELECT * FROM ${prefix}${table} WHERE ${column} = ?`,
        parameters: [name],
      })),
    );
    return rows
      .flat()
      .map((row) => Object.values(row).join("\n").replaceAll('\\"', '"'))
      .join("\n");
  };
  return { url, path: `/${kind}/${name}`, prefix, raw, documents, rowsOf };
}

/** Returns a function that creates harnesses in workerd. */
export function harnessesIn(starting: Promise<Workerd>, kind: "d1" | "object"): () => Promise<Harness> {
  return async () => {
    const workerd = await starting;
    const { url, path, documents, rowsOf } = await makeNamespace(workerd.port, kind);
    const proxy = new TcpProxy();
    const faulty = `http://127.0.0.1:${await proxy.forward({ host: "127.0.0.1", port: workerd.port })}${path}`;
    const module = new URL("./client.ts", import.meta.url);
    const stored = documentHarness({
      server: workerd.server,
      connect: documents,
      childProcess: { module, data: url },
      dump: (threadId) =>
        rowsOf(threadId, [
          ["heads", "thread"],
          ["pages", "thread"],
        ]),
      dumpIndex: (index) => rowsOf(index, [["entries", "name"]]),
      close: () => proxy.close(),
    });
    const send = sendTo(url);
    let count = 0;
    const driver = new RemoteDriver((request) => {
      count += 1;
      return send(request);
    });
    return {
      ...stored,
      driver,
      connect: () => connect(url),
      requestCount: () => count,
      faults: { connect: () => connect(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await driver.close();
        await stored.close();
      },
    };
  };
}

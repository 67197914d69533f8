import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inspect, promisify } from "node:util";
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  MetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  ATTR_DB_COLLECTION_NAME,
  ATTR_DB_NAMESPACE,
  ATTR_DB_OPERATION_NAME,
  ATTR_DB_SYSTEM_NAME,
  ATTR_ERROR_TYPE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  METRIC_DB_CLIENT_OPERATION_DURATION,
} from "@opentelemetry/semantic-conventions";
import { expect, onTestFinished, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import { createMemoryStores } from "../src/index.ts";

/** Collects when a test asks, the values since the last time. */
class Reader extends MetricReader {
  constructor() {
    super({ aggregationTemporalitySelector: () => AggregationTemporality.DELTA });
  }
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}

  async durations() {
    const { resourceMetrics } = await this.collect();
    const [scope, ...otherScopes] = resourceMetrics.scopeMetrics;
    const [metric, ...others] = scope?.metrics ?? [];
    expect([otherScopes, others]).toEqual([[], []]);
    if (metric?.dataPointType !== DataPointType.HISTOGRAM) throw new Error("no histogram");
    return { scope: scope?.scope.name, ...metric };
  }
}

const reader = new Reader();
const hello = { role: "user", content: "hello, secret harbour" } as const;
const target = { collection: "chats", namespace: "app", server: { address: "db.example", port: 6379 } };

function driverOf(target: Driver["target"]): Driver {
  const memory = new MemoryDriver();
  const capabilities = { ...memory.capabilities, backend: "postgres" };
  return Object.assign(memory, { capabilities, target });
}

test("durations are recorded from the first call after a meter provider is registered, without a tracer provider", async () => {
  const store = createStores(driverOf(target)).open("private-thread");
  await store.addMessages([hello]);
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  await store.addMessages([hello]);
  await store.listMessages();
  await store.read();
  await expect(store.clear({ expectedRevision: null })).rejects.toThrow();
  const { scope, descriptor, dataPoints } = await reader.durations();
  expect(scope).toBe("@scrollback/store-core");
  expect(descriptor).toMatchObject({
    name: METRIC_DB_CLIENT_OPERATION_DURATION,
    unit: "s",
    advice: { explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] },
  });
  const common = {
    [ATTR_DB_SYSTEM_NAME]: "postgresql",
    [ATTR_DB_COLLECTION_NAME]: "chats",
    [ATTR_DB_NAMESPACE]: "app",
    [ATTR_SERVER_ADDRESS]: "db.example",
    [ATTR_SERVER_PORT]: 6379,
  };
  expect(dataPoints.map(({ attributes, value }) => [attributes, value.count])).toEqual([
    [{ ...common, [ATTR_DB_OPERATION_NAME]: "commit" }, 1],
    [{ ...common, [ATTR_DB_OPERATION_NAME]: "read" }, 2],
    [{ ...common, [ATTR_DB_OPERATION_NAME]: "commit", [ATTR_ERROR_TYPE]: "CONFLICT" }, 1],
  ]);
  expect(inspect(dataPoints, { depth: 10 })).not.toMatch(/private|secret/);
});

test("the number of series does not grow with threads", async () => {
  const stores = createMemoryStores();
  for (let thread = 0; thread < 20; thread++) {
    await stores.open(`t${thread}`).addMessages([hello], { operationId: `o${thread}` });
  }
  const { dataPoints } = await reader.durations();
  expect(dataPoints.map(({ value }) => value.count)).toEqual([20]);
});

test("several factories record a call once, in seconds", async () => {
  for (let factory = 0; factory < 5; factory++) createMemoryStores();
  const began = performance.now();
  await createMemoryStores().open("t").addMessages([hello]);
  const most = (performance.now() - began) / 1_000;
  const [point, ...others] = (await reader.durations()).dataPoints;
  expect(others).toEqual([]);
  expect(point?.value.count).toBe(1);
  expect(point?.value.sum).toBeGreaterThan(0);
  expect(point?.value.sum).toBeLessThanOrEqual(most);
});

const repository = join(import.meta.dirname, "../../..");

/** The attributes and fields of OTLP in JSON that the test reads. */
interface Exported {
  resourceMetrics: {
    scopeMetrics: {
      metrics: {
        name: string;
        unit: string;
        histogram: { dataPoints: { attributes: { key: string }[] }[] };
      }[];
    }[];
  }[];
}

test("the set-up in the docs exports the metric and the labels that the queries there name", async () => {
  const page = await readFile(join(repository, "docs/how-to/observability.md"), "utf8");
  const [, setUp = ""] = /```ts\n(import \{ metrics \}.*?)```/s.exec(page) ?? [];
  const [, queries = ""] = /```promql\n(.*?)```/s.exec(page) ?? [];
  const received: Exported[] = [];
  const server = createServer(async (request, response) => {
    received.push(JSON.parse(await text(request)));
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const folder = await mkdtemp(join(import.meta.dirname, "metrics-"));
  onTestFinished(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const use = `
    import { createMemoryStores } from "@scrollback/store-core";
    const store = createMemoryStores().open("t");
    await store.addMessages([{ role: "user", content: "Hello" }]);
    await store.clear({ expectedRevision: null }).catch(() => {});
    await provider.shutdown();
  `;
  const program = join(folder, "program.ts");
  await writeFile(program, setUp + use);
  const { port } = server.address() as AddressInfo;
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
  await promisify(execFile)(process.execPath, [program], { env });
  const metric = received[0]?.resourceMetrics[0]?.scopeMetrics[0]?.metrics[0];
  expect(metric?.unit).toBe("s");
  // As Prometheus names what it receives by OTLP.
  const prometheus = (name: string) => name.replaceAll(".", "_");
  const series = `${prometheus(metric?.name ?? "")}_seconds`;
  const labels = metric?.histogram.dataPoints.flatMap(({ attributes }) => attributes.map(({ key }) => key));
  const asked = [...queries.matchAll(/\b(?:db|error)_\w+/g)].map(([name]) => name);
  expect(new Set(asked.filter((name) => name.startsWith(series)))).toEqual(
    new Set([`${series}_bucket`, `${series}_count`]),
  );
  const askedLabels = asked.filter((name) => !name.startsWith(series));
  expect(askedLabels).not.toEqual([]);
  expect(labels?.map(prometheus)).toEqual(expect.arrayContaining(askedLabels));
});

test("durations go on with a provider that is registered in the place of another", async () => {
  const store = createStores(driverOf(target)).open("again");
  const readers = [new Reader(), new Reader()];
  for (const one of readers) {
    metrics.disable();
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [one] }));
    await store.addMessages([hello]);
    expect((await one.durations()).dataPoints).toHaveLength(1);
  }
});

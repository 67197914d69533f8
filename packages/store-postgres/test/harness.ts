import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { type DriverCapabilities, MAX_VALUE_BYTES } from "@scrollback/store-core/driver";
import { connect, type Namespace } from "./client.ts";
import { watchedDriver } from "./queries.ts";
import { makeSchema } from "./schema.ts";
import { createVector } from "./vector.ts";

/**
 * Returns a function that creates harnesses on a server, each with its own schema.
 *
 * @param hasVectors whether the server has pgvector.
 */
export function postgresHarnesses(
  starting: Promise<SharedServer>,
  hasVectors = true,
): () => Promise<Harness> {
  return async () => {
    const { product, version, url } = await starting;
    const schema = await makeSchema(url);
    if (hasVectors) await createVector(url);
    const namespace: Namespace = { url, schema: schema.schema };
    const proxy = new TcpProxy();
    const faulty: Namespace = { ...namespace, url: await proxy.forwardUrl(url, 5432) };
    const module = new URL("./client.ts", import.meta.url);
    const { driver, sent } = watchedDriver(namespace);
    // A driver cannot know it without a request.
    if (!hasVectors) Reflect.set(driver, "capabilities", withoutVectors(driver.capabilities));
    return {
      driver,
      server: { product, version },
      connect: () => connect(namespace),
      requestCount: () => sent.length,
      childProcess: { module, data: namespace },
      raw: schema.raw,
      faults: { connect: () => connect(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await driver.close();
        await proxy.close();
        await schema[Symbol.asyncDispose]();
      },
    };
  };
}

function withoutVectors(capabilities: DriverCapabilities): DriverCapabilities {
  return Object.freeze({ ...capabilities, index: Object.freeze({ maxValueBytes: MAX_VALUE_BYTES }) });
}

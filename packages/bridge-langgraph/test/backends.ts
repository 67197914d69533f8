import { randomUUID } from "node:crypto";
import { type ServerName, startServer } from "@scrollback/conformance/servers";
import type { StoreFactory } from "@scrollback/store-core";
import { afterAll } from "vitest";
import { declareStoryTests } from "./story-tests.ts";
import { runValidation } from "./validation.ts";

/** A server that runs for one test file. */
interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Declares LangGraph's suite and the stories on a server.
 *
 * @param open makes stores of a started server, in a namespace of this name.
 */
export function declareBackendTests<T extends Pick<Started, "stop">>(
  title: string,
  start: () => Promise<T>,
  open: (server: T, name: string) => StoreFactory,
): void {
  const name = `langgraph_${randomUUID().replaceAll("-", "")}`;
  let started: Promise<T> | undefined;
  let ready: Promise<void> | undefined;
  afterAll(async () => (await started)?.stop());
  const openStores = async () => {
    started ??= start();
    const server = await started;
    ready ??= (async () => {
      await using stores = open(server, name);
      await stores.setup();
    })();
    await ready;
    return open(server, name);
  };
  runValidation(title, openStores);
  declareStoryTests(title, openStores);
}

/** The same for one of the servers of the suite, by its URL. */
export function declareServerTests(
  title: string,
  name: ServerName,
  open: (url: string, name: string) => StoreFactory,
): void {
  declareBackendTests<Started>(
    title,
    () => startServer(name),
    ({ url }, place) => open(url, place),
  );
}

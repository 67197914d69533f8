import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFactory } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { rejection } from "../checks/errors.ts";
import { DEADLINE_MS } from "../checks/times.ts";
import { numbered, textsIn } from "../messages/messages.ts";
import { TcpProxy } from "../proxy/tcp-proxy.ts";
import type { HandedIn } from "./other-settings.ts";

/** How an adapter connects to a server through a proxy. Everything that the stores need on the server is set up. */
export interface ProxiedServer<Options> {
  /** Makes the proxy forward to the server, and returns options for stores that connect through it. */
  options(proxy: TcpProxy): Promise<Options>;
  /** The same with a client of the user. Default: the adapter does not take a client. */
  handIn?(proxy: TcpProxy): Promise<HandedIn<Options>>;
}

interface Scene<Options> extends AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly options: Options;
  readonly stores: StoreFactory;
}

/** Declares the tests of a server whose replies do not arrive. */
export function declareProxied<Options>(
  create: (options: Options) => StoreFactory,
  { options, handIn }: ProxiedServer<Options>,
): void {
  const openScene = async (lead: (proxy: TcpProxy) => Promise<Options>): Promise<Scene<Options>> => {
    const proxy = new TcpProxy();
    const given = await lead(proxy);
    const stores = create(given);
    return {
      proxy,
      options: given,
      stores,
      async [Symbol.asyncDispose]() {
        await stores.close();
        await proxy.close();
      },
    };
  };

  const expectPromptClose = async ({ proxy, stores }: Scene<Options>) => {
    const store = stores.open();
    await store.addMessages(numbered(1));
    proxy.set({ kind: "hang" });
    const calls = [store.addMessages(numbered(1)), store.listMessages(), store.clear(), stores.setup()];
    const waiting = Promise.all(calls.map((call) => rejection(call, "CLOSED")));
    await sleep(100);
    const start = performance.now();
    await Promise.all([stores.close(), waiting]);
    expect(performance.now() - start, "milliseconds to close").toBeLessThan(2_000);
  };

  describe.concurrent("a server that does not reply", () => {
    test.each(["drop-reply", "hang"] as const)(
      "%s: calls fail within the timeout, as retryable",
      async (kind) => {
        await using scene = await openScene(options);
        const { proxy, stores } = scene;
        const store = stores.open();
        await store.addMessages(numbered(1));
        proxy.set({ kind });
        const start = performance.now();
        const errors = await Promise.all([
          rejection(store.addMessages(numbered(1, "late")), "UNAVAILABLE"),
          rejection(store.listMessages(), "UNAVAILABLE"),
        ]);
        for (const { retryable } of errors) expect(retryable).toBe(true);
        expect(performance.now() - start).toBeGreaterThan(3_500);
        expect(performance.now() - start).toBeLessThan(DEADLINE_MS);
        proxy.set({ kind: "pass" });
        expect((await textsIn(store))[0]).toBe("message 1");
      },
    );

    test("a commit whose reply was lost is retried and takes effect once", async () => {
      await using scene = await openScene(options);
      const { proxy, stores } = scene;
      const store = stores.open();
      await store.addMessages(numbered(1));
      proxy.set({ kind: "drop-reply", times: 1 });
      await store.addMessages(numbered(1, "message", 2));
      expect(proxy.mode.kind, "the reply was lost").toBe("pass");
      expect(await textsIn(store)).toEqual(["message 1", "message 2"]);
    });

    test("close ends calls in progress at once with CLOSED", async () => {
      await using scene = await openScene(options);
      await expectPromptClose(scene);
    });

    if (!handIn) return;
    test("close ends calls in progress on a caller's client, which stays open", async ({ expect }) => {
      let handed: HandedIn<Options> | undefined;
      await using scene = await openScene(async (proxy) => {
        handed = await handIn(proxy);
        return handed.options;
      });
      await expectPromptClose(scene);
      scene.proxy.set({ kind: "pass" });
      await vi.waitFor(async () => expect(await handed?.use().then(() => true)).toBe(true), {
        timeout: DEADLINE_MS,
      });
      await handed?.close();
    });
  });
}

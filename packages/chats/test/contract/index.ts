// The contract of a chat store as tests for Vitest, on any backend.

import { randomUUID } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";
import { afterEach, beforeEach, describe, test } from "vitest";
import { ChatStore } from "../../src/chat-store.ts";
import { changing } from "./changing.ts";
import type {
  ChatContractOptions,
  ChatHarness,
  ContractMessage,
  ContractOptions,
  ContractTest,
  Trial,
} from "./contract.ts";
import { copying } from "./copying.ts";
import { creating } from "./creating.ts";
import { deleting } from "./deleting.ts";
import { files } from "./files.ts";
import { following } from "./following.ts";
import { leasing } from "./leasing.ts";
import { listing } from "./listing.ts";
import { moving } from "./moving.ts";
import { oneMessage } from "./one-message.ts";
import { racing } from "./racing.ts";
import { repeating } from "./repeating.ts";
import { running } from "./running.ts";
import { siblings } from "./siblings.ts";
import { titling } from "./titling.ts";
import { updating } from "./updating.ts";

/** Every promise of a chat store, as a test. */
const chatContract: readonly ContractTest[] = [
  ...creating,
  ...updating,
  ...titling,
  ...changing,
  ...oneMessage,
  ...listing,
  ...repeating,
  ...racing,
  ...deleting,
  ...copying,
  ...moving,
  ...running,
  ...leasing,
  ...siblings,
  ...files,
  ...following,
];

/**
 * Declares the complete contract for one backend. Call it at the top level of a Vitest file.
 *
 * @example
 * runChatContract({ name: "Redis", createHarness });
 */
export function runChatContract({ name, createHarness }: ChatContractOptions): void {
  describe(`chats on ${name}`, { timeout: 60_000 }, () => {
    let harness: ChatHarness;
    const opened: { readonly chats: ChatStore<ContractMessage>; readonly stores: StoreFactory }[] = [];
    beforeEach(async () => {
      harness = await createHarness();
    }, 180_000);
    afterEach(async () => {
      const all = opened.splice(0);
      await Promise.all(all.map(({ chats }) => chats.flush()));
      await Promise.all(all.map(({ stores }) => stores.close()));
      await harness.close();
    }, 60_000);
    const connect = (options: ContractOptions = {}) => {
      const stores = harness.openStores();
      const chats = new ChatStore<ContractMessage>({ stores, ...options });
      opened.push({ chats, stores });
      return { chats, stores };
    };
    for (const { title, run } of chatContract) {
      test(title, async () => {
        const { chats, stores } = connect();
        const owner = `ada-${randomUUID()}`;
        const trial: Trial = {
          ...{ chats, stores, owner, mine: chats.of(owner) },
          connect: (options) => connect(options).chats,
        };
        await run(trial);
      });
    }
  });
}

import { createStores, type Driver, type EntryIndex } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { ChatStore, type OwnedChats } from "../src/index.ts";
import type { ContractMessage } from "./contract/contract.ts";
import { dialogue, message, textsIn } from "./contract/values.ts";

type Mine = OwnedChats<ContractMessage>;
/** The moment of the process's death: before or after its request takes effect. */
const moments = ["before", "after"] as const;

/** A driver of a process that dies at one of its writes: its later requests have no effect and get no reply. */
function dyingDriver(driver: Driver, writesLeft: number, moment: (typeof moments)[number]) {
  let left = writesLeft;
  const death = Promise.withResolvers<"dead">();
  const never = () => {
    death.resolve("dead");
    return new Promise<never>(() => undefined);
  };
  const write = async <T>(run: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left >= 0) return await run();
    if (left === -1 && moment === "after") await run();
    return await never();
  };
  const dying: Driver = {
    capabilities: driver.capabilities,
    commit: (request) => write(() => driver.commit(request)),
    delete: (request) => write(() => driver.delete(request)),
    read: (request) => (left < 0 ? never() : driver.read(request)),
    list: (request) => driver.list(request),
    index: wrappedIndex(driver.index as EntryIndex, (verb, run) =>
      verb.endsWith("Entry") ? write(run) : left < 0 ? never() : run(),
    ),
    close: async () => undefined,
    classifyError: (error) => driver.classifyError(error),
  };
  return { dying, death: death.promise };
}

const exported = await (async () => {
  const chats = new ChatStore<ContractMessage>({ stores: createStores(new KeptDriver()) });
  await chats.of("ada").create({ id: "c", messages: dialogue("x", "y") });
  return await chats.of("ada").export("c");
})();

interface Case {
  run(mine: Mine): Promise<unknown>;
  /** The chats after another process has repeated the call. */
  readonly ids: readonly string[];
  readonly texts: readonly string[];
}

const cases: Record<string, Case> = {
  create: {
    run: (mine) => mine.create({ id: "new", messages: dialogue("n") }, { operationId: "op" }),
    ids: ["c", "kept", "new"],
    texts: ["q", "a"],
  },
  append: {
    run: (mine) => mine.append("c", [message("q2")], { operationId: "op" }),
    ids: ["c", "kept"],
    texts: ["q", "a", "q2"],
  },
  edit: {
    run: (mine) => mine.edit("c", "q", message("q2"), { operationId: "op" }),
    ids: ["c", "kept"],
    texts: ["q2"],
  },
  fork: {
    run: (mine) => mine.fork("c", { id: "new", operationId: "op" }),
    ids: ["c", "kept", "new"],
    texts: ["q", "a"],
  },
  import: {
    run: (mine) => mine.import(exported, { id: "new", operationId: "op" }),
    ids: ["c", "kept", "new"],
    texts: ["q", "a"],
  },
  delete: { run: (mine) => mine.delete("c"), ids: ["kept"], texts: [] },
  deleteAll: { run: (mine) => mine.deleteAll(), ids: [], texts: [] },
  run: {
    async run(mine) {
      const answer = (await mine.read("c"))?.entries.find((entry) => entry.message.id === "a2");
      if (answer?.status === "complete") return;
      const run = await mine.begin(
        "c",
        { append: [message("q2")] },
        { messageId: "a2", whileRunning: "stop" },
      );
      run.update(message("a2", "assistant", "half"));
      await run.save();
      await run.end({ message: message("a2", "assistant", "all"), status: "complete" });
    },
    ids: ["c", "kept"],
    texts: ["q", "a", "q2", "all"],
  },
};

for (const [method, { run, ids, texts }] of Object.entries(cases)) {
  for (const moment of moments) {
    test.concurrent(`a process that dies ${moment} any of its writes in ${method}: lists are correct, and another process completes it`, async () => {
      let isFinished = false;
      for (let writes = 0; !isFinished; writes++) {
        expect(writes).toBeLessThan(40);
        const driver = new KeptDriver();
        const healthy = new ChatStore<ContractMessage>({ stores: createStores(driver) });
        await healthy.of("ada").create({ id: "c", title: "the-title", messages: dialogue("q", "a") });
        await healthy.of("ada").create({ id: "kept" });
        await healthy.flush();
        const { dying, death } = dyingDriver(driver, writes, moment);
        const mine = new ChatStore<ContractMessage>({ stores: createStores(dying) }).of("ada");
        isFinished = (await Promise.race([run(mine).then(() => "finished"), death])) === "finished";

        const others = new ChatStore<ContractMessage>({ stores: createStores(driver) });
        const theirs = others.of("ada");
        const members = (await theirs.list()).chats.map(({ id }) => id);
        const there = await Promise.all(["c", "kept", "new"].map((id) => theirs.get(id)));
        expect(members.toSorted()).toEqual(there.flatMap((chat) => chat?.id ?? []));
        // Each chat was read.
        await others.flush();
        const listed = (await theirs.list()).chats;
        for (const id of ["c", "kept", "new"]) {
          const found = await theirs.get(id);
          const { metadata, incarnation, revision, ...summary } = found ?? {};
          expect(listed.find((chat) => chat.id === id)).toEqual(found && summary);
        }
        await run(theirs);
        expect((await theirs.list()).chats.map(({ id }) => id).toSorted()).toEqual(ids);
        expect(await textsIn(theirs, "c")).toEqual(texts);
        await others.flush();
        expect((await theirs.list()).chats.map(({ id }) => id).toSorted()).toEqual(ids);
        if (!method.startsWith("delete")) continue;
        const stores = createStores(driver);
        for await (const { threadId } of stores.iterateThreads()) {
          const page = await stores.open(threadId).read();
          expect(JSON.stringify([threadId, page])).not.toContain("the-title");
        }
      }
    });
  }
}

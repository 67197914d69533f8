import { readFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { openStores, type StoreState } from "@scrollback/store-core";
import { agentBatches, readConversation } from "./openai-jsonl.ts";

// The program of an agent's process: takes one assignment over IPC, streams the conversation in, reports, and ends.

/** What an agent is told. */
export interface Assignment {
  readonly store: string;
  /** The conversation, as JSONL. */
  readonly file: string;
  /** Where the agent keeps what it needs to go on after a crash. Where there is such a file, it goes on. */
  readonly stateFile: string;
  /** For a new thread; one that goes on finds it in its state. */
  readonly maxMessages: number;
  /** How long the agent thinks before each batch. */
  readonly pauseMs: number;
}

/** What an agent tells. Batches are numbered from 1. */
export type Report =
  | { readonly event: "begins"; readonly batch: number }
  | {
      readonly event: "acknowledged";
      readonly batch: number;
      /** How many messages the batches hold so far. */
      readonly messages: number;
      /** How long `addMessages` took. */
      readonly ms: number;
      /** Whether the batch had been in the store before, so that it changed nothing. */
      readonly wasThere: boolean;
    }
  | { readonly event: "failed"; readonly message: string };

/** What the state file holds: the serialised store, and how far the agent knows that it got. */
export interface SavedState {
  readonly state: StoreState;
  readonly acknowledged: number;
}

async function run({ store: url, file, stateFile, maxMessages, pauseMs }: Assignment): Promise<void> {
  const saved = await readState(stateFile);
  await using stores = await openStores(url, saved ? {} : { maxMessages });
  const store = saved ? stores.restore(saved.state) : stores.open();
  const state = await store.serialize();
  const acknowledged = saved?.acknowledged ?? 0;
  await saveState(stateFile, { state, acknowledged });

  let { revision } = await store.read({ limit: 0 });
  let [batch, messages] = [0, 0];
  for await (const added of agentBatches(readConversation(file))) {
    batch += 1;
    messages += added.length;
    if (batch <= acknowledged) continue;
    await sleep(pauseMs);
    report({ event: "begins", batch });
    const start = performance.now();
    const before = revision;
    revision = await store.addMessages(added, { operationId: `batch ${batch}` });
    const ms = performance.now() - start;
    report({ event: "acknowledged", batch, messages, ms, wasThere: revision === before });
    await saveState(stateFile, { state, acknowledged: batch });
  }
}

async function readState(file: string): Promise<SavedState | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

/** A reader of the file finds one complete state or the other, even if this process is killed here. */
async function saveState(file: string, state: SavedState): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state));
  await rename(`${file}.new`, file);
}

function report(report: Report): void {
  process.send?.(report);
}

// Without the process that started it an agent has nothing to do.
process.once("disconnect", () => process.exit());
process.once("message", async (assignment: Assignment) => {
  try {
    await run(assignment);
  } catch (error) {
    report({ event: "failed", message: error instanceof Error ? error.message : String(error) });
    process.exitCode = 1;
  }
  process.disconnect();
});

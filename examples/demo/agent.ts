import { readFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { openStores, type StoreState } from "@scrollback/store-core";
import { agentBatches, readConversation } from "./openai-jsonl.ts";

// The program of an agent's process: takes one assignment over IPC, streams the conversation in, reports, and ends.

/** An agent's assignment. */
export interface Assignment {
  readonly store: string;
  /** The conversation, as JSONL. */
  readonly file: string;
  /** The file of the state that the agent needs to continue after a crash. If the file exists, the agent continues. */
  readonly stateFile: string;
  /** Used for a new thread. An agent that continues takes it from its state. */
  readonly maxMessages: number;
  /** The pause before each batch. */
  readonly pauseMs: number;
}

/** An agent's report. The first batch has the number 1. */
export type Report =
  | { readonly event: "begins"; readonly batch: number }
  | {
      readonly event: "acknowledged";
      readonly batch: number;
      /** The number of messages in the batches so far. */
      readonly messages: number;
      /** The duration of `addMessages`. */
      readonly ms: number;
      /** Whether the batch was in the store already, so that the call changed nothing. */
      readonly wasThere: boolean;
    }
  | { readonly event: "failed"; readonly message: string };

/** The content of the state file: the serialised store, and the progress known to the agent. */
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

/** A reader finds either the old or the new state, complete, even if this process is killed here. */
async function saveState(file: string, state: SavedState): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state));
  await rename(`${file}.new`, file);
}

function report(report: Report): void {
  process.send?.(report);
}

// Without its parent process the agent has no work.
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

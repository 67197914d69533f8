// The program of an agent's process: takes one assignment over IPC, runs a turn, tells what it sees, and ends.
import { openStores } from "@scrollback/store-core";
import { ChatAgent, type RunOptions } from "../src/index.ts";
import { type Answer, asked, lines, scripted, weatherTools } from "./models.ts";

/** What a process is told. */
export interface Assignment {
  readonly url: string;
  /** The thread to go on with; a new one where there is none. */
  readonly state?: unknown;
  /** The user's words; null goes on without any. */
  readonly input: string | null;
  /** What the model answers, call by call. */
  readonly answers: Answer[];
  /** The model's call, from 1 on, in which the model waits for a word from outside, or for its end. */
  readonly waitAt?: number;
  readonly persist?: "eachStep";
  readonly onConflict?: "append";
}

/** What a process tells. */
export type Report =
  | { readonly event: "waiting" }
  | {
      readonly event: "done";
      readonly text: string;
      /** What the model was asked last, a line a message. */
      readonly asked: string[];
      /** The thread as it is stored then, a line a message. */
      readonly stored: string[];
      readonly state: unknown;
    }
  | { readonly event: "failed"; readonly code: unknown; readonly message: string };

const report = (message: Report) => process.send?.(message);

async function work({ url, state, input, answers, waitAt, ...options }: Assignment): Promise<Report> {
  const stores = await openStores(url);
  let call = 0;
  const model = scripted(async () => {
    call += 1;
    if (call === waitAt) {
      report({ event: "waiting" });
      await new Promise((resolve) => process.once("message", resolve));
    }
    return answers[call - 1] ?? { error: new Error("the script has ended") };
  });
  const agent = new ChatAgent({ model, stores, tools: weatherTools().tools });
  const thread = state === undefined ? agent.getNewThread() : await agent.deserializeThread(state);
  const given: RunOptions = { thread, ...options };
  const { text } = await agent.run(input ?? [], given);
  return {
    event: "done",
    text,
    asked: asked(model),
    stored: lines((await thread.messageStore?.listMessages()) ?? []),
    state: await thread.serialize(),
  };
}

// Without the process that started it an agent has nothing to do.
process.once("disconnect", () => process.exit());
process.once("message", async (assignment: Assignment) => {
  const last = await work(assignment).catch(
    (error): Report => ({ event: "failed", code: error.code, message: String(error) }),
  );
  // Ends like a process that is stopped: nothing is closed.
  process.send?.(last, () => process.exit());
});

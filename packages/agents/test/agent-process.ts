// The program of an agent's process: receives one assignment over IPC, runs a turn, reports the result, and ends.
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { ChatAgent } from "../src/index.ts";
import { type Answer, asked, lines, scripted, weatherTools } from "./models.ts";

/** The assignment of a process. */
export interface Assignment {
  readonly url: string;
  /** The thread to continue; without it, a new one. */
  readonly state?: unknown;
  readonly input: string;
  /** The model's answers, one per call. */
  readonly answers: Answer[];
  /** The number of the model call (first: 1) in which the model waits for the kill. */
  readonly waitAt?: number;
}

/** The report of a process. */
export type Report =
  | { readonly event: "waiting" }
  | {
      readonly event: "done";
      readonly text: string;
      /** The last prompt of the model, one line per message. */
      readonly asked: string[];
      /** The stored thread, one line per message. */
      readonly stored: string[];
      readonly state: unknown;
    }
  | { readonly event: "failed"; readonly code: unknown; readonly message: string };

const report = (message: Report) => process.send?.(message);

async function work({ url, state, input, answers, waitAt }: Assignment): Promise<Report> {
  const stores = await openTestStores(url);
  let call = 0;
  const model = scripted(async () => {
    call += 1;
    if (call === waitAt) {
      report({ event: "waiting" });
      await new Promise<never>(() => {});
    }
    return answers[call - 1] ?? { error: new Error("the script has ended") };
  });
  const agent = new ChatAgent({ model, stores, tools: weatherTools().tools });
  const thread = state === undefined ? agent.getNewThread() : await agent.deserializeThread(state);
  const { text } = await agent.run(input, { thread });
  return {
    event: "done",
    text,
    asked: asked(model),
    stored: lines((await thread.messageStore?.listMessages()) ?? []),
    state: await thread.serialize(),
  };
}

// Without its parent process the agent has no work.
process.once("disconnect", () => process.exit());
process.once("message", async (assignment: Assignment) => {
  const last = await work(assignment).catch(
    (error): Report => ({ event: "failed", code: error.code, message: String(error) }),
  );
  // Ends like a stopped process: closes nothing.
  process.send?.(last, () => process.exit());
});

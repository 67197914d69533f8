import { randomUUID } from "node:crypto";
import type { Backend, Contestant } from "./backend.ts";
import type { Progress } from "./calls.ts";
import { type ColdRow, timingOf } from "./figures.ts";
import { type Cell, type Effort, measure } from "./measure.ts";
import { messagesFrom } from "./messages.ts";
import { ROOM } from "./operations.ts";

const KNOWN_LENGTH = 1_000;

/** Measures first commits of one message: connecting, and everything that the first call on a connection must learn. */
export async function measureCold(
  backend: Backend,
  effort: Effort,
  { signal, report }: Progress,
): Promise<ColdRow[]> {
  report("measuring first commits");
  const cells: { name: string; thread: ColdRow["thread"]; cell: Cell }[] = [];
  for (const name of ["raw", "Scrollback"] as const) {
    const connect = () => backend.connect[name](backend.location.url);
    const known = randomUUID();
    const filling = await connect();
    await filling.fill(known, messagesFrom(0, KNOWN_LENGTH));
    await filling.close();
    cells.push({ name, thread: "new", cell: firstCommit(connect, randomUUID) });
    cells.push({ name, thread: "known", cell: firstCommit(connect, () => known) });
  }
  await measure(
    cells.map(({ cell }) => cell),
    effort,
    signal,
  );
  return (["new", "known"] as const).map((thread) => ({
    thread,
    results: Object.fromEntries(
      cells.filter((one) => one.thread === thread).map(({ name, cell }) => [name, timingOf(cell.times)]),
    ),
  }));
}

function firstCommit(connect: () => Promise<Contestant>, threadIdOf: () => string): Cell {
  let contestant: Contestant | undefined;
  let position = KNOWN_LENGTH;
  return {
    prepare() {
      const messages = messagesFrom(position++, 1);
      const threadId = threadIdOf();
      return async () => {
        contestant = await connect();
        await contestant.open(threadId, KNOWN_LENGTH + ROOM).append(messages)();
      };
    },
    finish: async () => {
      await contestant?.close();
    },
    times: [],
  };
}

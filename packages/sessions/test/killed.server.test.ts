import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { writeAndKill } from "../../../conformance-tests/test/fixtures/write-and-kill.ts";
import { SessionService } from "../src/index.ts";

const program = new URL("child.ts", import.meta.url);
const ROUNDS = rounds(4, 8);

async function expectWhole(url: string): Promise<void> {
  await using stores = await openTestStores(url);
  // A process that dies may leave its session at its old place of the list. A service that read it lists it where it belongs.
  const sessions = new SessionService({ stores });
  for (let round = 0; round < ROUNDS; round += 2) {
    // Two concurrent processes, so that both write to the threads of the app and the user.
    const names = [`round-${round}`, `round-${round + 1}`];
    const acknowledged = await Promise.all(
      names.map((name) => writeAndKill({ program, args: [url, name], withinMs: 40 })),
    );
    for (const [index, sessionId] of names.entries()) {
      const session = await sessions.getSession({ appName: "app", userId: "ada", sessionId });
      const count = session?.events.length ?? 0;
      const known = acknowledged[index]?.length ?? 0;
      expect([known, known + 1]).toContain(count);
      for (let n = 1; n <= count; n++) {
        const key = `${sessionId}-${n}`;
        expect(session?.events[n - 1]?.id).toBe(key);
        for (const prefix of ["", "app:", "user:"]) expect(session?.state[prefix + key]).toBe(n);
      }
      expect(session?.state[`app:${sessionId}-${count + 1}`]).toBeUndefined();
    }
  }
  const { sessions: listed } = await sessions.listSessions({ appName: "app", userId: "ada" });
  expect(listed).toHaveLength(ROUNDS);
  const times = listed.map(({ lastUpdateTime }) => lastUpdateTime);
  expect(times).toEqual([...times].sort((a, b) => b - a));
}

test.concurrent("writers killed at any moment lose no event and no delta, on Redis", async () => {
  await expectWhole(await newServerUrl("Redis"));
});

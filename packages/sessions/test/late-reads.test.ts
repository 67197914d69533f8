import { createStores, MemoryDriver, type ReadRequest } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { SessionService } from "../src/index.ts";

/** A driver that can delay the reply of a read, after it has read the thread. */
class SlowReads extends MemoryDriver {
  readonly #held = new Map<string, Promise<void>>();

  /** Delays the next read of a thread. Returns the function that releases it. */
  holdNext(threadId: string): () => void {
    let release = () => {};
    this.#held.set(
      threadId,
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    return () => release();
  }

  override async read(request: ReadRequest) {
    const view = await super.read(request);
    const held = this.#held.get(request.threadId);
    this.#held.delete(request.threadId);
    await held;
    return view;
  }
}

test("a late reply to an old read of the app's state does not hide newer values", async () => {
  const driver = new SlowReads();
  const service = new SessionService({ stores: createStores(driver) });
  const user = { appName: "app", userId: "ada" };
  await service.createSession({ ...user, sessionId: "s", state: { "app:x": "old" } });
  await service.createSession({ ...user, sessionId: "other" });
  const releaseState = driver.holdNext("sessions:app:app");
  const late = service.getAppState({ appName: "app" });
  await service.updateSession({ ...user, sessionId: "other", state: { "app:x": "new" } });
  // The read of the session returns last, and shows that the session has a write for the app.
  const releaseSession = driver.holdNext("sessions:session:app:ada:s");
  const reading = service.getSession({ ...user, sessionId: "s" });
  await new Promise((resolve) => setImmediate(resolve));
  releaseState();
  expect(await late).toEqual({ x: "old" });
  releaseSession();
  expect((await reading)?.state).toEqual({ "app:x": "new" });
});

import {
  type CommitRequest,
  createStores,
  MemoryDriver,
  type ReadRequest,
} from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { SessionService } from "../src/index.ts";

/** A driver that can delay the reply to a request, after the request has had its effect. */
class SlowReplies extends MemoryDriver {
  readonly #held = new Map<string, Promise<void>>();

  /** Delays the reply to the next read of a thread, or commit to it. Returns the function that releases it. */
  holdNext(verb: "read" | "commit", threadId: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(`${verb} ${threadId}`, promise);
    return resolve;
  }

  override async read(request: ReadRequest) {
    return await this.#late(`read ${request.threadId}`, await super.read(request));
  }

  override async commit(request: CommitRequest) {
    return await this.#late(`commit ${request.threadId}`, await super.commit(request));
  }

  async #late<T>(name: string, reply: T): Promise<T> {
    const held = this.#held.get(name);
    this.#held.delete(name);
    await held;
    return reply;
  }
}

test("a late reply to an old read of the app's state does not hide newer values", async () => {
  const driver = new SlowReplies();
  const service = new SessionService({ stores: createStores(driver) });
  const user = { appName: "app", userId: "ada" };
  await service.createSession({ ...user, sessionId: "s", state: { "app:x": "old" } });
  await service.createSession({ ...user, sessionId: "other" });
  const releaseState = driver.holdNext("read", "sessions:app:app");
  const late = service.getAppState({ appName: "app" });
  await service.updateSession({ ...user, sessionId: "other", state: { "app:x": "new" } });
  // The read of the session returns last, and shows that the session has a write for the app.
  const releaseSession = driver.holdNext("read", "sessions:session:app:ada:s");
  const reading = service.getSession({ ...user, sessionId: "s" });
  await new Promise((resolve) => setImmediate(resolve));
  releaseState();
  expect(await late).toEqual({ x: "old" });
  releaseSession();
  expect((await reading)?.state).toEqual({ "app:x": "new" });
});

test("a late reply to an own write of the app's state does not hide newer values of another process", async () => {
  const driver = new SlowReplies();
  const [ours, theirs] = [1, 2].map(() => new SessionService({ stores: createStores(driver) }));
  const user = { appName: "app", userId: "ada" };
  await theirs?.createSession({ ...user, sessionId: "theirs", state: { "app:x": "oldest" } });
  await theirs?.createSession({ ...user, sessionId: "third" });
  await ours?.createSession({ ...user, sessionId: "ours" });
  const release = driver.holdNext("commit", "sessions:app:app");
  const late = ours?.updateSession({ ...user, sessionId: "ours", state: { "app:x": "old" } });
  await vi.waitFor(async () => expect(await theirs?.getAppState({ appName: "app" })).toEqual({ x: "old" }));
  await theirs?.updateSession({ ...user, sessionId: "third", state: { "app:x": "new" } });
  // It reads the new value, and waits for its turn to finish the session's own write to the app's state.
  const reading = ours?.getSession({ ...user, sessionId: "theirs" });
  await new Promise((resolve) => setImmediate(resolve));
  release();
  await late;
  expect((await reading)?.state).toEqual({ "app:x": "new" });
});

import { describe, expect, test, vi } from "vitest";
import { withFakeTimers } from "../../../conformance-tests/test/fixtures/fake-timers.ts";
import { clientFrom, errorTable, isUrl, PendingCalls } from "../src/driver.ts";
import { StoreError } from "../src/index.ts";

const failure = (properties: object, options?: ErrorOptions): Error =>
  Object.assign(new Error("with a secret: hunter2", options), properties);
const table = errorTable("etcd");

describe("an error table", () => {
  test("classifies failures as retryable or permanent, under the backend's name", () => {
    expect(table.retryable("it starts")).toEqual({
      code: "UNAVAILABLE",
      message: "etcd: it starts",
      retryable: true,
    });
    expect(table.permanent("it is full")).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(table.unsupported("it is old")).toEqual({ code: "UNSUPPORTED", message: "etcd: it is old" });
    expect(table.tooLarge("no")).toEqual({ code: "TOO_LARGE", message: "etcd: no" });
  });

  test.each([
    { code: "ECONNREFUSED", syscall: "connect" },
    { code: "ECONNRESET" },
    { code: "EPIPE", syscall: "write" },
    { code: "ETIMEDOUT" },
    { code: "EHOSTUNREACH" },
    { code: "EAI_AGAIN", syscall: "getaddrinfo" },
    { code: "ENOTFOUND", syscall: "querySrv" },
    { code: "ENOENT", syscall: "connect" },
    { code: "EACCES", syscall: "connect" },
  ])("%o is a lost connection, and names the server and the reason", (properties) => {
    for (const error of [failure(properties), failure({}, { cause: failure(properties) })]) {
      expect(table.network(error, "db:1")).toEqual({
        code: "UNAVAILABLE",
        message: `etcd: could not reach db:1 (${properties.code})`,
        retryable: true,
      });
    }
  });

  test("finds the reason in an AggregateError", () => {
    const refused = failure({ code: "ECONNREFUSED", syscall: "connect", address: "::1", port: 1 });
    expect(table.network(new AggregateError([refused]))?.message).toBe(
      "etcd: could not reach [::1]:1 (ECONNREFUSED)",
    );
  });

  test.each([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "CERT_HAS_EXPIRED",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ])("%s is a refused certificate at any depth of the cause, and is not retried", (code) => {
    for (const error of [failure({ code }), failure({ code: "ECONNRESET" }, { cause: failure({ code }) })]) {
      expect(table.network(error)).toEqual({
        code: "UNAVAILABLE",
        message: "etcd: the server's TLS certificate was refused; see cause",
        retryable: false,
      });
    }
  });

  test("returns undefined for all other errors", () => {
    const self = failure({ code: "EPERM" });
    self.cause = self;
    for (const error of [
      self,
      failure({ code: "ENOENT", syscall: "open" }),
      failure({ code: "EACCES", syscall: "mkdir" }),
      failure({ code: 18 }),
      new TypeError("x is not a function"),
      { code: "ECONNREFUSED" },
      "ECONNREFUSED",
      undefined,
    ]) {
      expect(table.network(error)).toBeUndefined();
    }
  });
});

describe("the option url", () => {
  const check = isUrl("etcd://[user:password@]host[:port]", ["etcd", "etcds"], ({ hostname, search }) =>
    search === "" ? hostname !== "" : "must have no parameters",
  );

  test.each(["etcd://host", "etcds://us%2Fer:p%40ss@host:1"])("%s is accepted", (url) => {
    expect(check(url)).toBeUndefined();
  });

  test.each([
    "",
    "host",
    "http://user:hunter2@host",
    "etcd://user:hunter%zz@host",
    "etcd://user:hunter2@host:99999",
    "etcd:",
    7,
    null,
  ])("%o is refused and not shown", (url) => {
    expect(check(url)).toBe("must read etcd://[user:password@]host[:port]");
  });

  test("is refused with the adapter's message if it has one", () => {
    expect(check("etcd://host?hunter2")).toBe("must have no parameters");
  });

  test("and client exclude each other, and one is required", () => {
    const client = { name: "given" };
    const from = (given: { url?: string | undefined; client?: object | undefined }) =>
      clientFrom("createEtcdStores", given, (url) => ({ name: `opened for ${url}` }));
    expect(from({ client })).toEqual({ client, owned: false });
    expect(from({ url: "etcd:" })).toEqual({ client: { name: "opened for etcd:" }, owned: true });
    for (const both of [{}, { url: "etcd:", client }, { url: undefined, client: undefined }])
      expect(() => from(both)).toThrow("createEtcdStores: give either url or client");
  });
});

describe("pending calls", () => {
  const forever = () => new Promise<never>(() => {});

  test("settle with their reply", async () => {
    const calls = new PendingCalls();
    expect(await calls.run(async () => 1, 10_000)).toBe(1);
    await expect(calls.run(() => Promise.reject(new Error("raw")))).rejects.toThrow("raw");
  });

  test("fail after their timeout without a reply", async () => {
    await withFakeTimers(async () => {
      const call = new PendingCalls().run(forever, 4_000);
      let isSettled = false;
      const settle = () => {
        isSettled = true;
      };
      call.then(settle, settle);
      const outcome = expect(call).rejects.toMatchObject({ name: "TimeoutError" });
      await vi.advanceTimersByTimeAsync(3_999);
      expect(isSettled).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await outcome;
      expect(vi.getTimerCount()).toBe(0);
    });
  });

  test("fail with CLOSED as soon as the driver closes, and so do later ones, which send nothing", async () => {
    const calls = new PendingCalls();
    const waiting = [calls.run(forever), calls.run(forever, 10_000)];
    const outcomes = Promise.allSettled(waiting);
    let disconnected = 0;
    expect(calls.signal.aborted).toBe(false);
    await calls.close(() => {
      disconnected++;
    });
    expect(calls.signal.aborted).toBe(true);
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: "CLOSED" } });
    let sent = 0;
    const later = calls.run(async () => {
      sent++;
    });
    await expect(later).rejects.toSatisfy((error) => StoreError.is(error, "CLOSED"));
    expect(sent).toBe(0);
    await calls.close(() => {
      disconnected++;
    });
    expect(disconnected, "closed once").toBe(1);
  });

  test("let close succeed if the client's farewell fails", async () => {
    await new PendingCalls().close(() => Promise.reject(new Error("the connection was lost")));
    await new PendingCalls().close(() => {
      throw new Error("the client is closed");
    });
  });

  test("do not make close wait for a hanging client", async () => {
    const calls = new PendingCalls();
    // The timer of the deadline does not keep the process alive, so this interval does.
    const alive = setInterval(() => {}, 100);
    const start = performance.now();
    await calls.close(forever);
    clearInterval(alive);
    expect(performance.now() - start).toBeGreaterThan(400);
  });
});

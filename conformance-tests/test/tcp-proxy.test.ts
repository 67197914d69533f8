import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TcpProxy } from "../src/proxy/tcp-proxy.ts";

/** The text that the server received, and the clients, of one test. */
let received: string;
let open: Socket[];
let proxy: TcpProxy;
let port: number;
const server = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    received += chunk;
    socket.write(`<${chunk}>`);
  });
});

beforeEach(async () => {
  received = "";
  open = [];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = new TcpProxy();
  port = await proxy.forward({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
});

afterEach(async () => {
  await proxy.close();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** A client that keeps what it receives. */
async function client(): Promise<{
  send(text: string): void;
  got(): string;
  closed(): boolean;
  gets(text: string): Promise<void>;
  isCut(): Promise<void>;
}> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  open.push(socket);
  let got = "";
  socket.on("data", (chunk) => {
    got += chunk;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  return {
    send: (text) => socket.write(text),
    got: () => got,
    closed: () => socket.closed,
    gets: (text) => expect.poll(() => got, { interval: 5 }).toBe(text),
    isCut: () => expect.poll(() => socket.closed, { interval: 5 }).toBe(true),
  };
}

/** Long enough for loopback to deliver everything. */
const pause = () => sleep(60);

test("forwards in both directions and counts", async () => {
  const one = await client();
  one.send("hello");
  await one.gets("<hello>");
  const two = await client();
  two.send("x");
  await two.gets("<x>");
  expect(proxy.counters).toEqual({
    connections: 2,
    usedConnections: 2,
    requestBytes: 6,
    replyBytes: 10,
    strikes: 0,
  });
});

test("forwards the end of a stream after the data before it", async () => {
  const one = await client();
  one.send("bye");
  open[0]?.end();
  await one.gets("<bye>");
  await one.isCut();
});

test("passes megabytes unchanged", async () => {
  const one = await client();
  const text = "0123456789".repeat(300_000);
  one.send(text);
  await expect.poll(() => received.length).toBe(text.length);
  expect(received).toBe(text);
  await expect.poll(() => one.got().replace(/[<>]/g, "").length).toBe(text.length);
});

test("cuts before the request the given number of times, then passes", async () => {
  proxy.set({ kind: "cut-request", times: 2 });
  for (const attempt of ["a", "b"]) {
    const cut = await client();
    cut.send(attempt);
    await cut.isCut();
  }
  expect(received).toBe("");
  expect(proxy.mode).toEqual({ kind: "pass" });
  const one = await client();
  one.send("c");
  await one.gets("<c>");
  expect(proxy.counters.strikes).toBe(2);
});

test("cuts during the request", async () => {
  const one = await client();
  one.send("1");
  await one.gets("<1>");
  proxy.set({ kind: "cut-request", afterBytes: 3 });
  one.send("hello");
  await one.isCut();
  await expect.poll(() => received).toBe("1hel");
});

test("cuts between request and reply", async () => {
  const one = await client();
  proxy.set({ kind: "cut-reply", times: 1 });
  one.send("hello");
  await one.isCut();
  expect(received).toBe("hello");
  expect(one.got()).toBe("");
});

test("cuts during the reply", async () => {
  const one = await client();
  one.send("1");
  await one.gets("<1>");
  proxy.set({ kind: "cut-reply", afterBytes: 4 });
  one.send("hello");
  await one.isCut();
  expect(received).toBe("1hello");
  expect(one.got()).toBe("<1><hel");
});

test("loses all further replies of that connection and keeps it open", async () => {
  const one = await client();
  proxy.set({ kind: "drop-reply", times: 1 });
  one.send("hello");
  await expect.poll(() => received).toBe("hello");
  await pause();
  expect(proxy.mode.kind).toBe("pass");
  one.send("again");
  await expect.poll(() => received).toBe("helloagain");
  await pause();
  expect(one.got()).toBe("");
  expect(one.closed()).toBe(false);
  const two = await client();
  two.send("x");
  await two.gets("<x>");
});

test.each(["drop-reply", "cut-reply"] as const)(
  "%s does not count the end of a connection as a reply",
  async (kind) => {
    const one = await client();
    proxy.set({ kind, times: 1 });
    open[0]?.end();
    await one.isCut();
    expect(proxy.mode.kind).toBe(kind);
    const two = await client();
    two.send("x");
    await expect.poll(() => proxy.mode.kind).toBe("pass");
    expect(two.got()).toBe("");
  },
);

test("hangs, and forwards the held data when the mode changes", async () => {
  const one = await client();
  proxy.set({ kind: "hang" });
  one.send("a");
  const two = await client();
  two.send("b");
  await pause();
  expect(received).toBe("");
  expect(one.closed()).toBe(false);
  expect(proxy.counters.strikes).toBe(2);
  proxy.set({ kind: "pass" });
  await one.gets("<a>");
  await two.gets("<b>");
});

test("holds replies, and applies the next mode to the held ones", async () => {
  const one = await client();
  proxy.set({ kind: "hold-reply" });
  one.send("a");
  await expect.poll(() => proxy.counters.strikes).toBe(1);
  proxy.set({ kind: "pass" });
  proxy.set({ kind: "hold-reply" });
  await one.gets("<a>");
  one.send("b");
  await expect.poll(() => proxy.counters.strikes).toBe(2);
  proxy.set({ kind: "cut-reply", skip: 1 });
  await one.gets("<a><b>");
  const two = await client();
  proxy.set({ kind: "hold-reply" });
  two.send("c");
  await expect.poll(() => proxy.counters.strikes).toBe(3);
  proxy.set({ kind: "cut-reply" });
  await two.isCut();
  expect(two.got()).toBe("");
  expect(received).toBe("abc");
  expect(one.closed()).toBe(false);
});

test("delays replies, and keeps their order when the delay shrinks", async () => {
  const one = await client();
  proxy.set({ kind: "delay-reply", ms: 120 });
  const start = performance.now();
  one.send("1");
  await expect.poll(() => proxy.counters.strikes, { interval: 5 }).toBe(1);
  proxy.set({ kind: "pass" });
  one.send("2");
  await one.gets("<1><2>");
  // Timers may fire a millisecond early.
  expect(performance.now() - start).toBeGreaterThan(118);
});

test("down: cuts open and new connections until it is up again", async () => {
  const one = await client();
  one.send("a");
  await one.gets("<a>");
  proxy.set({ kind: "down" });
  await one.isCut();
  const two = await client();
  await two.isCut();
  proxy.set({ kind: "pass" });
  const three = await client();
  three.send("b");
  await three.gets("<b>");
  expect(received).toBe("ab");
});

test("cuts open connections once", async () => {
  const one = await client();
  one.send("a");
  await one.gets("<a>");
  proxy.cutConnections();
  await one.isCut();
  const two = await client();
  two.send("b");
  await two.gets("<b>");
});

test("cuts the client when the server cannot be reached", async () => {
  const gone = new TcpProxy();
  port = await gone.forward({ host: "127.0.0.1", port: 1 });
  const one = await client();
  await one.isCut();
  await gone.close();
});

test("applies one mode to several servers", async () => {
  const first = await client();
  port = await proxy.forward({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  const second = await client();
  proxy.set({ kind: "down" });
  await first.isCut();
  await second.isCut();
});

test("close leaves no socket and no timer, and a second close does nothing", async () => {
  const one = await client();
  proxy.set({ kind: "delay-reply", ms: 60_000 });
  one.send("a");
  await expect.poll(() => proxy.counters.strikes).toBe(1);
  proxy.set({ kind: "hang" });
  one.send("b");
  await pause();
  await proxy.close();
  await proxy.close();
  await one.isCut();
  await pause();
  const kinds = process.getActiveResourcesInfo();
  // Only the test's own server and Vitest's own timer remain.
  expect(kinds.filter((kind) => kind === "TCPSocketWrap")).toEqual([]);
  await expect(client()).rejects.toThrow("ECONNREFUSED");
});

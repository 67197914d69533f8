import { Agent, createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { StoreError } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { nodeListener } from "../src/index.ts";
import { serve } from "./serve.ts";

test("nodeListener: bodies, headers, errors, and a body that is cut off", async () => {
  const seen: unknown[] = [];
  const server = createServer(
    nodeListener((request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/refused") return new Response(null, { status: 401 });
      if (pathname === "/throws") throw new StoreError("CONFLICT", "no");
      if (pathname === "/breaks")
        return new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode("so far")),
            async pull(controller) {
              await new Promise((resolve) => setTimeout(resolve, 20));
              controller.error(new Error("broken"));
            },
          }),
        );
      return request.text().then((text) => {
        seen.push([request.method, request.url, request.headers.get("x-a"), text]);
        return new Response("made", { status: 201, headers: { "x-b": "2" } });
      });
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = await fetch(`${url}/path?x=1`, { method: "PUT", body: "text", headers: { "x-a": "1" } });
  expect([response.status, response.headers.get("x-b"), await response.text()]).toEqual([201, "2", "made"]);
  expect(seen).toEqual([["PUT", `${url}/path?x=1`, "1", "text"]]);
  expect((await fetch(`${url}/throws`)).status).toBe(409);
  expect((await fetch(`${url}/refused`)).status).toBe(401);
  await expect(fetch(`${url}/breaks`).then((broken) => broken.text())).rejects.toThrow();
  await new Promise((resolve) => server.close(resolve));
});

test("a connection can be reused after a request whose body was not read", async () => {
  await using server = await serve({ maxMessageBytes: 2_000 });
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    [Symbol.dispose]: () => agent.destroy(),
  });
  const send = async (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
    await new Promise<number | undefined>((resolve, reject) => {
      const options = { agent, method, headers, timeout: 5_000 };
      const request = httpRequest(`${server.url}${path}`, options, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      });
      request.on("error", reject).on("timeout", () => request.destroy(new Error("no answer")));
      request.end(body);
    });
  const large = "x".repeat(3 * 1_024 * 1_024);
  const requests: [string, Record<string, string>?][] = [
    ["/api/chat"],
    ["/elsewhere"],
    ["/api/chat", { "transfer-encoding": "chunked" }],
  ];
  for (const [path, headers] of requests) {
    expect(await send("POST", path, large, headers)).toBe(path === "/api/chat" ? 413 : 404);
    expect(await send("GET", "/api/chats", "")).toBe(200);
  }
});

import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { startUi } from "./inspector.ts";
import { Folder, run } from "./run.ts";

const HOUR = { ttlMs: 3_600_000 };

async function inspected(folder: Folder) {
  await using stores = folder.stores("chats", HOUR);
  await stores.open("chat-1").addMessages([{ role: "user", content: "secret" }]);
  return await startUi(folder.url());
}

test("the token works once, for a cookie that scripts and other sites do not get", async () => {
  using folder = new Folder();
  await using ui = await inspected(folder);
  expect(ui.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/);
  const [, token = ""] = ui.url.split("=");
  // Neither a preview of the URL nor a guess uses it up.
  expect((await ui.send(`/?token=${token}`, {}, "HEAD")).status).toBe(401);
  expect((await ui.send(`/?token=${token.slice(1)}`)).status).toBe(401);
  const first = await ui.send(`/?token=${token}`);
  expect(first).toMatchObject({ status: 303, headers: { location: "/" } });
  const [cookie = ""] = [first.headers["set-cookie"]].flat();
  expect(cookie).toMatch(/^scrollback-ui-\d+=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/);
  const again = await ui.send(`/?token=${token}`);
  expect(again).toMatchObject({ status: 401 });
  expect(again.headers).not.toHaveProperty("set-cookie");
  const [granted = ""] = cookie.split(";");
  expect((await ui.send(`/?token=${token}`, { cookie: granted })).status).toBe(303);
  expect((await ui.send("/", { cookie: granted })).status).toBe(200);
  expect((await ui.send("/", { cookie: `other=1; ${granted}` })).status).toBe(200);
  expect((await ui.send("/", { cookie: `${granted}x` })).status).toBe(401);
});

test("without the cookie nothing is served", async () => {
  using folder = new Folder();
  await using ui = await inspected(folder);
  for (const path of [
    "/",
    "/page.js",
    "/page.css",
    "/api/threads",
    "/api/messages?id=chat-1&limit=1",
    "/no",
  ]) {
    const { status, text } = await ui.send(path);
    expect([path, status]).toEqual([path, 401]);
    expect(text).not.toContain("secret");
  }
});

test("a request to another host, of another origin or of another site is refused, with the cookie too", async () => {
  using folder = new Folder();
  await using ui = await inspected(folder);
  const cookie = await ui.cookie();
  const status = async (headers: Record<string, string>, path = "/api/threads") =>
    (await ui.send(path, { cookie, ...headers })).status;
  const { port } = new URL(ui.url);
  expect(await status({})).toBe(200);
  expect(await status({ host: `localhost:${port}` })).toBe(200);
  for (const host of [
    "attacker.example",
    `attacker.example:${port}`,
    `127.0.0.1.nip.io:${port}`,
    "127.0.0.1",
  ])
    expect([host, await status({ host })]).toEqual([host, 403]);
  expect(await status({ origin: ui.origin })).toBe(200);
  for (const origin of ["http://attacker.example", "null", "http://127.0.0.1:1", `https://127.0.0.1:${port}`])
    expect([origin, await status({ origin })]).toEqual([origin, 403]);
  expect(await status({ "sec-fetch-site": "same-origin" })).toBe(200);
  for (const site of ["cross-site", "same-site"]) expect(await status({ "sec-fetch-site": site })).toBe(403);
  // A target in absolute form names a host of its own.
  expect(await status({}, "http://attacker.example/api/threads")).toBe(404);
});

test("only GET and HEAD are served", async () => {
  using folder = new Folder();
  await using ui = await inspected(folder);
  const cookie = await ui.cookie();
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]) {
    const { status, headers } = await ui.send("/api/threads", { cookie }, method);
    expect([method, status, headers.allow]).toEqual([method, 405, "GET, HEAD"]);
  }
  expect(await ui.send("/api/threads", { cookie }, "HEAD")).toMatchObject({ status: 200, text: "" });
});

test("each response has the headers that make it safe", async () => {
  using folder = new Folder();
  await using ui = await inspected(folder);
  const cookie = await ui.cookie();
  for (const path of ["/", "/page.js", "/page.css", "/api/threads", "/api/no", "/no"]) {
    const { headers } = await ui.send(path, { cookie });
    const policy = String(headers["content-security-policy"]).split("; ");
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
      "cache-control": "no-store",
    });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
  }
  const { text } = await ui.send("/", { cookie });
  expect(text).not.toMatch(/<script(?! type="module" src="\/page\.js">)|<style|\son\w+=/);
});

test("it listens on the loopback interface, on the given port, until Ctrl-C", async () => {
  using folder = new Folder();
  await using ui = await inspected(folder);
  const { port } = new URL(ui.url);
  const others = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ internal }) => !internal),
  );
  for (const { address } of others.filter(({ family }) => family === "IPv4"))
    await expect(fetch(`http://${address}:${port}/`)).rejects.toThrow("fetch failed");
  const taken = await run(["ui", folder.url(), "--port", port]);
  expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining(`port ${port} of 127.0.0.1`) });
  expect((await run(["ui", folder.url(), "--port", "65536"])).code).toBe(2);
  expect((await run(["ui", folder.url("none")])).code).toBe(2);
  expect(await ui.end()).toBe(0);
  await expect(ui.send("/")).rejects.toThrow("ECONNREFUSED");
  await using same = await startUi(folder.url(), { args: ["--port", port] });
  expect(new URL(same.url).port).toBe(port);
});

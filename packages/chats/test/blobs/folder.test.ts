import type * as fs from "node:fs/promises";
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runBlobContract } from "./contract.ts";

const system = vi.hoisted((): { failure: Error | undefined; calls: string[] } => ({
  failure: undefined,
  calls: [],
}));
// Files that are opened cannot be written as long as there is a failure: root may write anywhere, and fills no disk.
vi.mock("node:fs/promises", async (original) => {
  const actual = await original<typeof fs>();
  const open: typeof fs.open = async (...args) => {
    const handle = await actual.open(...args);
    const { failure } = system;
    if (failure) vi.spyOn(handle, "writeFile").mockRejectedValue(failure);
    const sync = handle.sync.bind(handle);
    vi.spyOn(handle, "sync").mockImplementation(async () => {
      await sync();
      system.calls.push(`sync ${(await handle.stat()).isDirectory() ? "folder" : "file"}`);
    });
    return handle;
  };
  const rename: typeof fs.rename = async (...args) => {
    await actual.rename(...args);
    system.calls.push("rename");
  };
  return { ...actual, open, rename };
});

// A test before this one may have loaded it with the file system as it is.
vi.resetModules();
const { checkedBlobs } = await import("../../src/blobs/checked-blobs.ts");
const { createFolderBlobs } = await import("../../src/blobs/folder.ts");

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "scrollback-blobs-"));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  vi.resetModules();
});

const key = "Abc-_0123456";
const content = new TextEncoder().encode("content");

runBlobContract("a folder", async () => {
  const folder = join(root, "contract");
  const blobs = createFolderBlobs(folder);
  return {
    storage: checkedBlobs(blobs),
    options: { blobs },
    count: async () => (await readdir(folder)).length,
  };
});

describe("a folder of files", () => {
  test("is created by the first write, for its user alone", async () => {
    const folder = join(root, "new/deep");
    const blobs = createFolderBlobs(folder);
    expect(await blobs.get(key)).toBeUndefined();
    await blobs.delete(key);
    await expect(stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
    await blobs.put(key, content);
    const modes = await Promise.all(
      [folder, join(folder, Buffer.from(key).toString("hex"))].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o600]);
    expect(await readdir(folder)).toEqual(["4162632d5f30313233343536"]);
  });

  test("is durable when a call returns", async () => {
    const blobs = createFolderBlobs(join(root, "durable/deep"));
    system.calls = [];
    await blobs.put(key, content);
    // The new folders have names too.
    expect(system.calls).toEqual(["sync folder", "sync folder", "sync file", "rename", "sync folder"]);
    system.calls = [];
    await blobs.delete(key);
    expect(system.calls).toEqual(["sync folder"]);
  });

  test("loses what processes left that died in a write, after an hour", async () => {
    const folder = join(root, "left");
    await createFolderBlobs(folder).put(key, content);
    const left = ["old.tmp", "new.tmp", "old"];
    for (const name of left) await writeFile(join(folder, name), "x");
    const old = Date.now() / 1_000 - 3_700;
    for (const name of ["old.tmp", "old"]) await utimes(join(folder, name), old, old);
    await createFolderBlobs(folder).put("another-key0", content);
    expect((await readdir(folder)).filter((name) => left.includes(name)).sort()).toEqual(["new.tmp", "old"]);
  });

  test("has no part of a content whose write failed", async () => {
    const folder = join(root, "failed");
    const blobs = createFolderBlobs(folder);
    await blobs.put("another-key0", content);
    const controller = new AbortController();
    const writing = blobs.put(key, new Uint8Array(64 * 1_048_576), { signal: controller.signal });
    await vi.waitFor(async () => expect(await readdir(folder)).toHaveLength(2), { interval: 1 });
    expect(await blobs.get(key)).toBeUndefined();
    controller.abort();
    await expect(writing).rejects.toThrow();
    expect(await readdir(folder)).toHaveLength(1);
  });

  test("that is a file, or in one, is an error with its path", async () => {
    const file = join(root, "file");
    await writeFile(file, "x");
    for (const folder of [file, join(file, "inner")]) {
      const blobs = createFolderBlobs(folder);
      const error = {
        code: "UNAVAILABLE",
        retryable: false,
        message: `createFolderBlobs: the folder "${folder}" is not a folder, or is in a file; name another path`,
      };
      await expect(blobs.put(key, content)).rejects.toMatchObject(error);
      await expect(blobs.get(key)).rejects.toMatchObject(error);
      await expect(blobs.delete(key)).rejects.toMatchObject(error);
    }
  });

  test.each([
    ["EACCES", "may not be read and written by this process; give its user these permissions"],
    ["ENOSPC", "has no space left; free space on its disk, or raise the quota"],
  ])("that refuses a write with %s is an error with its path, and nothing is left", async (code, problem) => {
    const folder = join(root, code);
    const blobs = createFolderBlobs(folder);
    await blobs.put(key, content);
    system.failure = Object.assign(new Error("of the system"), { code });
    await expect(blobs.put("another-key0", content)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: `createFolderBlobs: the folder "${folder}" ${problem}`,
      cause: system.failure,
    });
    system.failure = undefined;
    expect(await readdir(folder)).toHaveLength(1);
  });

  test("keeps the system's error as the cause of any other", async () => {
    const folder = join(root, "odd");
    await createFolderBlobs(folder).put(key, content);
    const name = join(folder, Buffer.from("directory-00").toString("hex"));
    await createFolderBlobs(name).put(key, content);
    await expect(createFolderBlobs(folder).get("directory-00")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      cause: expect.objectContaining({ code: "EISDIR" }),
    });
  });

  test.each([undefined, "", 5])("needs a path, not %j", (path) => {
    expect(() => createFolderBlobs(path as string)).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: "createFolderBlobs: path must be a non-empty string",
      }),
    );
  });
});

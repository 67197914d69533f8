import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { expect, test, vi } from "vitest";
import { declareOwnClientTests } from "./own-client.ts";

vi.mock("ioredis", async () => await import("ioredis-5"));

test("ioredis 5 replaces ioredis 6", () => {
  expect(Redis).toBe(Redis5);
});

declareOwnClientTests("ioredis 5");

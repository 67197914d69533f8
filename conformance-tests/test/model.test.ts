import { MemoryDriver } from "@scrollback/store-core/driver";
import { test } from "vitest";
import { compareDrivers } from "../src/clauses/model.ts";
import { rounds } from "./fixtures/rounds.ts";
import { PlainDriver } from "./plain-driver.ts";

test("the memory driver returns what a direct implementation of the contract returns", async () => {
  await compareDrivers(new MemoryDriver(), new PlainDriver(), rounds(150, 500));
});

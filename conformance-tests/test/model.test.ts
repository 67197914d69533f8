import { MemoryDriver } from "@scrollback/store-core";
import { test } from "vitest";
import { compareDrivers } from "../src/model.ts";
import { PlainDriver } from "./plain-driver.ts";

test("the memory driver returns what a direct implementation of the contract returns", async () => {
  await compareDrivers(new MemoryDriver(), new PlainDriver(), 500);
});

import { MemoryDriver } from "@scrollback/store-core/driver";
import type { Clause } from "../clause.ts";
import { compareDrivers } from "../model.ts";

export const model: Clause = {
  title: "Side by side with memory",
  declare(test) {
    test("random commands give what they give on the memory driver", async (backend) => {
      await compareDrivers(backend.driver, new MemoryDriver(), 60);
    });
  },
};

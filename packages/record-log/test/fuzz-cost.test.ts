import { createStores } from "@scrollback/store-core/driver";
import { declareStoreCosts } from "../../store-core/test/growth.ts";
import { MemoryRecordLog, RecordLogDriver } from "../src/index.ts";

declareStoreCosts("a record log", (maxMessages) =>
  createStores(new RecordLogDriver(new MemoryRecordLog()), { maxMessages }),
);

import { declareMutants } from "./mutants/declare-mutants.ts";

// What is written in SQL and in Lua, and the retries over a network. The other source mutants are in mutants.deep.test.ts: the suite's
// power to detect such faults is also tested by conformance-mutants.server.test.ts, the log's by simulator-mutants.server.test.ts.
declareMutants(["loopback", "sqlite", "redis"]);

import { defineRedis } from "../redis/family.ts";

export const valkey = defineRedis({
  name: "valkey",
  image: "valkey/valkey:9",
  serverProgram: "valkey-server",
  cliProgram: "valkey-cli",
  standIn: { suite: "forky" },
});

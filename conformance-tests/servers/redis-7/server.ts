import { defineRedis } from "../redis/family.ts";

export const redis7 = defineRedis({
  name: "redis-7",
  image: "redis:7",
  serverProgram: "redis-server",
  cliProgram: "redis-cli",
  standIn: { suite: "bookworm" },
});

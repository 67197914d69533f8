import { defineRedis } from "./family.ts";

export const redis = defineRedis({
  name: "redis",
  image: "redis:8",
  serverProgram: "redis-server",
  cliProgram: "redis-cli",
  standIn: { suite: "forky" },
});

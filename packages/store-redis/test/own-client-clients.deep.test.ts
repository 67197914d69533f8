import { createWith, declareOwnClientTests } from "./own-client.ts";

for (const name of ["ioredis 5", "iovalkey", "node-redis 5"] as const)
  declareOwnClientTests(name, createWith(name));

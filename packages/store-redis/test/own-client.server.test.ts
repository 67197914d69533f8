import { declareOwnClientTests } from "./own-client.ts";

declareOwnClientTests("ioredis 6");

import { registerHooks } from "node:module";

// The same as `connection.ts`, in a separate process, with ioredis 5 instead of ioredis 6.
registerHooks({
  resolve: (specifier, context, next) => next(specifier === "ioredis" ? "ioredis-5" : specifier, context),
});
const [{ Redis }, { Redis: Redis5 }] = await Promise.all([import("ioredis"), import("ioredis-5")]);
if (!Object.is(Redis, Redis5)) throw new Error("ioredis 5 does not stand in the place of ioredis 6");

export const { connect } = await import("./connection.ts");

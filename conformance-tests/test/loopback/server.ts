import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import type { Driver, EntryIndex } from "@scrollback/store-core/driver";
import { onLine } from "./lines.ts";

/** One line per request: a verb of the driver behind the server, and its argument. */
export interface Request {
  readonly id: number;
  readonly verb: "commit" | "read" | "delete" | "list" | "setup" | keyof EntryIndex;
  readonly argument: unknown;
}

/** One line per reply, to the request with the same id. */
export type Reply = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly failure: string; readonly code?: StoreErrorCode }
);

/** Serves a driver of this process to clients on 127.0.0.1, line by line. */
export async function serve(driver: Driver): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    onLine(socket, async (line) => {
      const reply = await answer(driver, line);
      if (!socket.destroyed) socket.write(`${JSON.stringify(reply)}\n`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function answer(driver: Driver, line: string): Promise<Reply> {
  const request: Request = JSON.parse(line);
  try {
    return { id: request.id, result: (await run(driver, request)) ?? null };
  } catch (error) {
    if (StoreError.is(error)) return { id: request.id, failure: error.message, code: error.code };
    return { id: request.id, failure: String(error) };
  }
}

async function run(driver: Driver, { verb, argument }: Request): Promise<unknown> {
  type Verb = ((argument: unknown) => Promise<unknown>) | undefined;
  if (verb in driver) return await (driver[verb as keyof Driver] as Verb)?.call(driver, argument);
  const { index } = driver;
  return await (index?.[verb as keyof EntryIndex] as Verb)?.call(index, argument);
}

import type { StoreFactory, StoreOptions } from "@scrollback/store-core";
import type { D1 } from "../src/d1-client.ts";
import { createD1Stores, createDurableObjectStores } from "../src/index.ts";
import type { Namespace } from "./client.ts";
import { RawClient } from "./raw-client.ts";

/** Opens stores in workerd as a Worker does: on a Durable Object, or on D1 with tables of their own. */
export function openWorkerdStores(namespace: Namespace, options: StoreOptions = {}): StoreFactory {
  const [, kind, name = ""] = new URL(namespace).pathname.split("/");
  return kind === "object"
    ? createDurableObjectStores({ send: sendTo(namespace), ...options })
    : createD1Stores({ client: bindingTo(namespace), tablePrefix: name, ...options });
}

/** Sends the requests over connections that stay open, unlike that of the tests of faults. */
function sendTo(namespace: Namespace) {
  return async (request: Request) => {
    const { pathname } = new URL(request.url);
    return await fetch(namespace + pathname, { method: "POST", body: await request.text() });
  };
}

/** A binding of D1 that sends each batch to workerd. */
function bindingTo(namespace: Namespace): D1 {
  const raw = new RawClient(namespace);
  const prepare = (sql: string, ...parameters: (string | number | null)[]) => ({
    statement: { sql, parameters },
    bind: (...values: (string | number | null)[]) => prepare(sql, ...values),
  });
  const batch = async (statements: ReturnType<typeof prepare>[]) => {
    const replies = await raw.batch(statements.map(({ statement }) => statement));
    return replies.map((results) => ({ results }));
  };
  const binding = { prepare, batch, withSession: () => ({ prepare, batch }) };
  return binding as unknown as D1;
}

import { hash } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";

/** A new id; with an operation id always the same one, so that the call that is made again finds what it has made. */
export function idOfOperation(stores: StoreFactory, of: string, operationId: string | undefined): string {
  if (operationId === undefined) return stores.open().threadId;
  const text = hash("sha256", JSON.stringify([of, operationId]), "hex");
  // A UUID of version 8, which leaves its bits to applications.
  return text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}

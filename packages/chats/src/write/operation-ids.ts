import { hash } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";

/** A new id. Equal for each call with the same operation id, so that a repeated call finds what the first one created. */
export function idOfOperation(stores: StoreFactory, of: string, operationId: string | undefined): string {
  if (operationId === undefined) return stores.open().threadId;
  const text = hash("sha256", JSON.stringify([of, operationId]), "hex");
  // A UUID of version 8: the application chooses its bits.
  return text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}

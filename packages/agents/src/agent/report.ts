import { emitWarning } from "@scrollback/store-core/internal";

/** Reports an error when there is no listener. */
export function warn(error: unknown, { source }: { source: string }): void {
  const message = error instanceof Error ? error.message : String(error);
  emitWarning(`${source}: ${message}`);
}

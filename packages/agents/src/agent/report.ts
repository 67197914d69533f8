/** Reports an error when there is no listener. */
export function warn(error: unknown, { source }: { source: string }): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(`${source}: ${message}`, { type: "ScrollbackWarning" });
}

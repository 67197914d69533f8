import type { ChatAgentOptions } from "./options.ts";

type OnError = NonNullable<ChatAgentOptions["onError"]>;

/** A listener that fails must not fail the run that it is told about. */
export function guarded(onError: OnError): OnError {
  return (error, context) => {
    try {
      onError(error, context);
    } catch (failure) {
      warn(failure, { source: "onError" });
    }
  };
}

/** What becomes of an error that nobody listens for. */
export function warn(error: unknown, { source }: { source: string }): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(`${source}: ${message}`, { type: "ScrollbackWarning" });
}

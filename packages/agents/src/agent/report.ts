import type { ChatAgentOptions } from "./options.ts";

type OnError = NonNullable<ChatAgentOptions["onError"]>;

/** Keeps an error of the listener from failing the run that it reports on. */
export function guarded(onError: OnError): OnError {
  return (error, context) => {
    try {
      onError(error, context);
    } catch (failure) {
      warn(failure, { source: "onError" });
    }
  };
}

/** Reports an error when there is no listener. */
export function warn(error: unknown, { source }: { source: string }): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(`${source}: ${message}`, { type: "ScrollbackWarning" });
}

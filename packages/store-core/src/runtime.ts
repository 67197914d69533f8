// What Node.js has and another runtime may lack: the packages also run where timers are numbers and `process` has few members.

/** Keeps a timer from keeping the process alive, on runtimes whose timers can do so. Returns the timer. */
export function unrefTimer(timer: NodeJS.Timeout): NodeJS.Timeout {
  const { unref } = timer as Partial<NodeJS.Timeout>;
  unref?.call(timer);
  return timer;
}

/** A warning of the process; on a runtime without them, a line on the console. */
export function emitWarning(warning: Error | string): void {
  const { emitWarning: emit } = process as Partial<NodeJS.Process>;
  if (emit) emit.call(process, warning, { type: "ScrollbackWarning" });
  else console.warn(warning);
}

/** The version of Node.js that the runtime is, or is compatible with; undefined if it names none. */
export function nodeVersion(): string | undefined {
  const { versions } = process as Partial<NodeJS.Process>;
  return (versions as Partial<NodeJS.ProcessVersions> | undefined)?.node;
}

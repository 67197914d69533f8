import { StoreError } from "./errors.ts";

// What Node.js has and another runtime may lack: the packages also run where timers are numbers and `process` has few members.

/** A warning of the process; on a runtime without them, a line on the console. */
export function emitWarning(warning: Error | string): void {
  const { emitWarning: emit } = process as Partial<NodeJS.Process>;
  if (emit) emit.call(process, warning, { type: "ScrollbackWarning" });
  else console.warn(warning);
}

/** @throws StoreError `UNSUPPORTED` for a Node.js version older than the packages support. */
export function checkNodeVersion(): void {
  const { versions } = process as Partial<NodeJS.Process>;
  // The version that the runtime is, or is compatible with.
  const version = (versions as Partial<NodeJS.ProcessVersions> | undefined)?.node;
  if (version === undefined) return;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return;
  throw new StoreError("UNSUPPORTED", `Scrollback needs Node.js 22.13 or later; this is Node.js ${version}`);
}

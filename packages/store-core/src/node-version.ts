import { StoreError } from "./errors.ts";
import { nodeVersion } from "./runtime.ts";

/** @throws StoreError `UNSUPPORTED` for a Node.js version older than the packages support. */
export function checkNodeVersion(): void {
  const version = nodeVersion();
  if (version === undefined) return;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return;
  throw new StoreError("UNSUPPORTED", `Scrollback needs Node.js 22.13 or later; this is Node.js ${version}`);
}

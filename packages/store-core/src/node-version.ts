import { StoreError } from "./errors.ts";

/** @throws StoreError `UNSUPPORTED` for a Node.js version older than the packages support. */
export function checkNodeVersion(): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return;
  throw new StoreError(
    "UNSUPPORTED",
    `Scrollback needs Node.js 22.13 or later; this is Node.js ${process.versions.node}`,
  );
}

// "#runtime" on Node.js, Bun and Deno, which have the condition `node`. Everywhere else it is web.ts, of the same shape.
import { hash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { StoreError } from "../errors.ts";

/** The SHA-256 of a text's UTF-8. */
export function sha256(text: string, encoding: "base64url" | "hex" = "base64url"): string {
  return hash("sha256", text, encoding);
}

/** The number of UTF-8 bytes of a text. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

export function encodeBase64(bytes: Uint8Array, encoding: "base64" | "base64url" = "base64"): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding);
}

/** @returns undefined for a text that is not exactly what {@link encodeBase64} writes for its bytes. */
export function decodeBase64(
  text: string,
  encoding: "base64" | "base64url" = "base64",
): Uint8Array | undefined {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}

/** Whether a typed array has properties beside its elements. */
export function hasNamedProperty(value: NodeJS.TypedArray): boolean {
  const { buffer, byteOffset, byteLength, length } = value;
  const { constructor: TypedArray } = Object.getPrototypeOf(value);
  const same = Buffer.isBuffer(value)
    ? Buffer.from(buffer, byteOffset, byteLength)
    : new TypedArray(buffer, byteOffset, length);
  // Each element has a key, too many to list. This compares the elements in one step, as they are, and the other keys.
  return !isDeepStrictEqual(value, same);
}

/** Waits for the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return setImmediate();
}

/** A warning of the process; on a runtime without them, a line on the console. */
export function emitWarning(warning: Error | string): void {
  const { emitWarning: emit } = process as Partial<NodeJS.Process>;
  if (emit) emit.call(process, warning, { type: "ScrollbackWarning" });
  else console.warn(warning);
}

/** @throws StoreError `UNSUPPORTED` for a Node.js version older than the packages support. */
export function checkRuntime(): void {
  const { versions } = process as Partial<NodeJS.Process>;
  // The version that the runtime is, or is compatible with.
  const version = (versions as Partial<NodeJS.ProcessVersions> | undefined)?.node;
  if (version === undefined) return;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return;
  throw new StoreError("UNSUPPORTED", `Scrollback needs Node.js 22.13 or later; this is Node.js ${version}`);
}

/** An adapter that is loaded on demand. */
export interface AdapterPackage {
  readonly packageName: `@scrollback/store-${"dynamo" | "libsql" | "mongo" | "postgres" | "redis" | "sqlite"}`;
  /** The function that makes stores. */
  readonly create: string;
  /** What is installed for it. */
  readonly install: string;
}

/** Loads the package of an adapter. @throws StoreError `UNSUPPORTED` if it is not found, with what to do. */
export async function loadAdapter({
  packageName,
  install,
}: AdapterPackage): Promise<Record<string, unknown>> {
  // Bundlers find a package by a literal import only. Within `try`, one that is not installed does not fail their build.
  try {
    switch (packageName) {
      case "@scrollback/store-dynamo":
        return await import("@scrollback/store-dynamo");
      case "@scrollback/store-libsql":
        return await import("@scrollback/store-libsql");
      case "@scrollback/store-mongo":
        return await import("@scrollback/store-mongo");
      case "@scrollback/store-postgres":
        return await import("@scrollback/store-postgres");
      case "@scrollback/store-redis":
        return await import("@scrollback/store-redis");
      case "@scrollback/store-sqlite":
        return await import("@scrollback/store-sqlite");
    }
  } catch (error) {
    if (!isMissing(error, packageName)) throw error;
  }
  try {
    // With strictly isolated packages (pnpm, for example) only the application can resolve its adapters.
    // Not imported: bundlers would try to resolve what the function is called with.
    return createRequire(join(process.cwd(), "package.json"))(packageName);
  } catch (error) {
    if (!isMissing(error, packageName)) throw error;
    const message = `openStores: ${packageName} was not found; run: npm install ${install}`;
    throw new StoreError("UNSUPPORTED", message, { cause: error });
  }
}

function isMissing(error: unknown, packageName: string): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  const missing = error.code === "ERR_MODULE_NOT_FOUND" || error.code === "MODULE_NOT_FOUND";
  return missing && error.message.includes(`'${packageName}'`);
}

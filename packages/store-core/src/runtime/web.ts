// "#runtime" where there is no Node.js: browsers, Cloudflare Workers and other edge runtimes.
import { sha256 as digest } from "@noble/hashes/sha2.js";
import { StoreError } from "../errors.ts";
import type * as Node from "./node.ts";

const encoder = new TextEncoder();
/** `String.fromCharCode` takes so many arguments on every runtime. */
const CHUNK = 8_192;
/** A list of the keys of more elements takes too long and too much memory. */
const MAX_LISTED = 65_536;

export const sha256: typeof Node.sha256 = (text, encoding = "base64url") => {
  const bytes = digest(encoder.encode(text));
  if (encoding === "base64url") return encodeBase64(bytes, encoding);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
};

export const byteLength: typeof Node.byteLength = (text) => encoder.encode(text).length;

export const encodeBase64: typeof Node.encodeBase64 = (bytes, encoding = "base64") => {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK)
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  const base64 = btoa(binary);
  return encoding === "base64" ? base64 : base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};

export const decodeBase64: typeof Node.decodeBase64 = (text, encoding = "base64") => {
  let binary: string;
  try {
    binary = atob(encoding === "base64" ? text : text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return encodeBase64(bytes, encoding) === text ? bytes : undefined;
};

export const hasNamedProperty: typeof Node.hasNamedProperty = (value) =>
  value.length <= MAX_LISTED && Reflect.ownKeys(value).length > value.length;

export const nextTurn: typeof Node.nextTurn = () => new Promise((resolve) => setTimeout(resolve));

export const emitWarning: typeof Node.emitWarning = (warning) => console.warn(warning);

export function checkRuntime(): void {}

export const loadAdapter: typeof Node.loadAdapter = async ({ packageName, create }) => {
  throw new StoreError(
    "UNSUPPORTED",
    `openStores: on this runtime adapters are not loaded on demand; import ${create} of ${packageName} and give it in adapters`,
  );
};

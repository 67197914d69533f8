import type { Check } from "@scrollback/store-core/driver";

/**
 * The types of files that the models of OpenAI, Anthropic and Google take, and the bytes at their beginning. The SDK, or the provider,
 * fails for another one.
 */
const commonTypes: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG/,
  "image/jpeg": /^\xff\xd8\xff/,
  "image/gif": /^GIF8/,
  "image/webp": /^RIFF.{4}WEBP/s,
  "application/pdf": /^%PDF/,
};

/** The first 64 characters of a base64 text or all of a shorter one, as much as makes whole bytes. */
const wholeBase64 = /^(?:[A-Za-z\d+/]{4}){0,15}[A-Za-z\d+/]{2,4}/;

/** A file of a message. */
interface File {
  readonly mediaType: string;
  readonly url: string;
}

/** Whether a model takes a file, by the option `fileTypes`. Of data in a URL, the type is that of the bytes. */
export function isTakenFile(
  { mediaType, url }: File,
  fileTypes: readonly string[] = Object.keys(commonTypes),
): boolean {
  const declared = mediaType.toLowerCase().split(";")[0]?.trim() ?? "";
  const isCommon = Object.hasOwn(commonTypes, declared) || declared === "image" || declared === "image/*";
  if (!url.startsWith("data:") || !isCommon) return isTakenType(declared, fileTypes);
  const [base64 = ""] = wholeBase64.exec(url.slice(url.indexOf(",") + 1)) ?? [];
  const start = atob(base64);
  const found = Object.keys(commonTypes).find((type) => commonTypes[type]?.test(start));
  return found !== undefined && isTakenType(found, fileTypes);
}

function isTakenType(given: string, fileTypes: readonly string[]): boolean {
  // `image` and `image/*` are any image, which the SDK finds out.
  const [kind, subtype = "*"] = given.split("/");
  return fileTypes.some((type) => {
    const [takenKind, takenSubtype] = type.toLowerCase().split("/");
    const isAny = takenSubtype === "*" || (subtype === "*" && kind === "image");
    return kind === takenKind && (isAny || subtype === takenSubtype);
  });
}

export const isFileTypes: Check = (value) =>
  Array.isArray(value) &&
  value.every((type) => typeof type === "string" && /^[\w.+-]+\/([\w.+-]+|\*)$/.test(type))
    ? undefined
    : 'must be an array of media types such as "image/png" and "video/*"';

import type { Check } from "@scrollback/store-core";

/** The types of files that the models of OpenAI, Anthropic and Google take. The SDK, or the provider, fails for another one. */
const COMMON_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];

/** Whether a model takes files of a type, by the option `fileTypes`. */
export function isTakenType(mediaType: string, fileTypes: readonly string[] = COMMON_TYPES): boolean {
  const [given = ""] = mediaType.toLowerCase().split(";");
  // `image` and `image/*` are any image, which the SDK finds out.
  const [kind, subtype = "*"] = given.trim().split("/");
  return fileTypes.some((type) => {
    const [takenKind, takenSubtype] = type.toLowerCase().split("/");
    return kind === takenKind && (subtype === "*" || takenSubtype === "*" || subtype === takenSubtype);
  });
}

export const isFileTypes: Check = (value) =>
  Array.isArray(value) &&
  value.every((type) => typeof type === "string" && /^[\w.+-]+\/([\w.+-]+|\*)$/.test(type))
    ? undefined
    : 'must be an array of media types such as "image/png" and "video/*"';

import { parseFileReference } from "@scrollback/chats";
import { invalid } from "@scrollback/store-core/driver";
import { safeValidateUIMessages, type UIMessage } from "ai";
import { assertNoReferences, withReference } from "../convert/file-references.ts";
import { isTakenFile } from "../convert/file-types.ts";
import { isFileUrl, isPublicUrl } from "../convert/file-url.ts";
import { withoutNulls } from "../convert/null-fields.ts";
import type { UIPart } from "../convert/tool-parts.ts";
import type { UIOptions } from "../convert/ui-messages.ts";
import type { MessageOptions } from "../options.ts";
import { callWithin } from "./call-within.ts";

/** The SDK's type of tools for validation, which differs from `ToolSet` only in optional fields. */
type ValidationTools = NonNullable<Parameters<typeof safeValidateUIMessages<UIMessage>>[0]["tools"]>;

/** Each is loaded for the model, however short its URL is. */
const MAX_STORED_FILES = 32;

/** Checks the message that a user sends. @throws StoreError `INVALID_ARGUMENT` that names the part. */
export async function userMessage<UI extends UIMessage>(
  message: unknown,
  options: MessageOptions,
): Promise<UI> {
  const { id, role, parts: given, metadata } = message as Partial<Record<keyof UIMessage, unknown>>;
  if (role !== "user") invalid(`chat: message.role must be "user" or "assistant"`);
  if (!Array.isArray(given) || given.length === 0) invalid("chat: message.parts must be an array of parts");
  assertNoReferences("chat: the message", message);
  const parts = given.map((part) =>
    typeof part === "object" && part !== null ? withReference(withoutNulls(part)) : part,
  );
  const [valid] = (await validated({ id, role, parts, metadata }, options)) ?? [];
  const { metadataSchema, ...withoutMetadata } = options;
  for (const [index, part] of parts.entries()) {
    const type = Object(part).type;
    const isOwn = type === "text" || type === "file" || String(type).startsWith("data-");
    // Of a message that is not valid, each part is checked alone, so that the error names it.
    if (!isOwn || !(valid ?? (await validated({ id, role, parts: [part] }, withoutMetadata))))
      invalid(`chat: message.parts[${index}] is not valid; a user sends text, files and data`);
    if (type === "file" && !isTakenFile(part, options.fileTypes))
      invalid(
        `chat: message.parts[${index}] is not a file of a type in the option fileTypes; add its type if the model takes such files`,
      );
    if (type !== "file" || parseFileReference(part.url)) continue;
    if (!isFileUrl(part.url))
      invalid(
        `chat: message.parts[${index}].url must be an http or https URL without credentials, or a data URL in base64`,
      );
    if (!(await isPublicUrl(part.url)))
      invalid(
        `chat: message.parts[${index}].url must be public; models do not load files of a private network`,
      );
  }
  if (parts.filter((part) => parseFileReference(Object(part).url)).length > MAX_STORED_FILES)
    invalid(`chat: message.parts has more than ${MAX_STORED_FILES} files that are stored already`);
  if (valid === undefined)
    invalid(`chat: message.${typeof id === "string" ? "metadata" : "id"} is not valid`);
  const { metadata: checked, ...unchecked } = valid;
  const rest = { ...unchecked, parts: valid.parts.map(ownPart) };
  return (checked === undefined ? rest : { ...rest, metadata: checked }) as UI;
}

/** Metadata that the schema accepts, as it makes it; `null` removes it. @throws StoreError `INVALID_ARGUMENT`. */
export async function checkedMetadata(
  metadata: unknown,
  { metadataSchema }: UIOptions,
  callbackMs: number,
): Promise<unknown> {
  assertNoReferences("request: metadata", metadata);
  if (metadata === undefined || metadata === null || metadataSchema === undefined) return metadata;
  const message = { id: "message", role: "user", parts: [{ type: "text", text: "" }], metadata };
  const [valid] =
    (await callWithin(callbackMs, "the validation of the metadata", () =>
      validated(message, { metadataSchema }),
    )) ?? [];
  return valid ? valid.metadata : invalid("request: metadata does not match metadataSchema");
}

/** The fields of a part that a user may send. Fields for providers are the server's. */
function ownPart(part: UIPart): UIPart {
  if (part.type === "text") return { type: part.type, text: part.text };
  if (part.type !== "file") return part;
  const { type, mediaType, filename, url } = part;
  return { type, mediaType, ...(filename !== undefined && { filename }), url };
}

/** A message that the SDK has validated, without unknown fields; undefined if it is not valid. */
export async function validated(
  message: unknown,
  { tools, metadataSchema, dataSchemas }: UIOptions,
): Promise<UIMessage[] | undefined> {
  const result = await safeValidateUIMessages<UIMessage>({
    messages: [message],
    ...(tools && { tools: tools as ValidationTools }),
    ...(metadataSchema && { metadataSchema }),
    // The SDK looks a schema up by the name that a client sends, such as `constructor`.
    ...(dataSchemas && { dataSchemas: Object.assign(Object.create(null), dataSchemas) }),
  });
  return result.success ? result.data : undefined;
}

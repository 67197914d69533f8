import { invalid } from "@scrollback/store-core";
import { safeValidateUIMessages, type UIMessage } from "ai";
import type { UIOptions } from "./options.ts";

/** What the SDK calls a `ToolSet` here, told apart from it by optional fields alone. */
type ValidationTools = NonNullable<Parameters<typeof safeValidateUIMessages<UIMessage>>[0]["tools"]>;

/** Checks the message that a user sends. @throws StoreError `INVALID_ARGUMENT` that names the part. */
export async function userMessage<UI extends UIMessage>(message: unknown, options: UIOptions): Promise<UI> {
  const { id, role, parts, metadata } = message as Partial<Record<keyof UIMessage, unknown>>;
  if (role !== "user") invalid(`chat: message.role must be "user" or "assistant"`);
  if (!Array.isArray(parts) || parts.length === 0) invalid("chat: message.parts must be an array of parts");
  for (const [index, part] of parts.entries()) {
    const type = Object(part).type;
    const isOwn = type === "text" || type === "file" || String(type).startsWith("data-");
    if (!isOwn || !(await isValid({ id, role, parts: [part] }, withoutMetadata(options))))
      invalid(`chat: message.parts[${index}] is not valid; a user sends text, files and data`);
  }
  const [valid] = (await validated({ id, role, parts, metadata }, options)) ?? [];
  if (valid === undefined)
    invalid(`chat: message.${typeof id === "string" ? "metadata" : "id"} is not valid`);
  const { metadata: checked, ...rest } = valid;
  return (checked === undefined ? rest : { ...rest, metadata: checked }) as UI;
}

function withoutMetadata({ metadataSchema, ...options }: UIOptions): UIOptions {
  return options;
}

async function isValid(message: unknown, options: UIOptions): Promise<boolean> {
  return (await validated(message, options)) !== undefined;
}

/** A message as the SDK validates it; undefined where it is not valid. Drops unknown fields. */
export async function validated(
  message: unknown,
  { tools, metadataSchema, dataSchemas }: UIOptions,
): Promise<UIMessage[] | undefined> {
  const result = await safeValidateUIMessages<UIMessage>({
    messages: [message],
    ...(tools && { tools: tools as ValidationTools }),
    ...(metadataSchema && { metadataSchema }),
    ...(dataSchemas && { dataSchemas: { ...dataSchemas } }),
  });
  return result.success ? result.data : undefined;
}

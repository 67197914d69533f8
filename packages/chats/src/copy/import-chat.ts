import { hash } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import { isObject, isOneOf } from "@scrollback/store-core/driver";
import { encodeWrapped, isBoolean, isRecordTime, isText } from "@scrollback/store-core/internal";
import type { Chat, ChatEntry, Identified } from "../chat.ts";
import { checkNewMessages, checkPatch, isMessageId, optionChecks } from "../checks.ts";
import type { ChatContext } from "../read/context.ts";
import type { StoredEntry } from "../read/entries.ts";
import { operationOf } from "../read/head.ts";
import { idOfOperation, locationOf } from "../threads.ts";
import { copied, copiedTitle, copyChat } from "./copy-chat.ts";
import { type ChatExport, decodeExport } from "./export-chat.ts";

/** The options of {@link OwnedChats.import}. */
export interface ImportOptions {
  /** Default: a UUID; the same one for each call with the same operation id. */
  readonly id?: string;
  /** A repeated import of the same export with this id creates no second chat, and continues a failed import. */
  readonly operationId?: string;
  readonly signal?: AbortSignal;
}

const isStatus = isOneOf("complete", "partial", "stopped", "failed");
const requiredFields = {
  ...{ createdAt: isRecordTime, updatedAt: isRecordTime, activeAt: isRecordTime },
  ...{ pinned: isBoolean, archived: isBoolean, labels: isObject, metadata: isObject },
};

/** Creates a chat from an export. */
export async function importChat<M extends Identified>(
  context: ChatContext<M>,
  owner: string,
  data: unknown,
  { id, operationId, signal }: ImportOptions,
): Promise<Chat> {
  const { chat, entries } = parseExport<M>(context, data);
  const { pinned, archived, labels, metadata, forkedFrom } = chat;
  const { createdAt, updatedAt, activeAt } = chat;
  const chatId = id ?? idOfOperation(context.stores, owner, operationId);
  const operation =
    operationId === undefined
      ? undefined
      : operationOf(operationId, "import", hash("sha256", encodeWrapped(data), "base64url"));
  return await copyChat(context, locationOf(owner, chatId), {
    method: "import",
    entries: entries.map((entry) => copied({ ...entry, writes: 0 } as StoredEntry<M>, context.closeAnswer)),
    fields: {
      ...copiedTitle(chat, entries),
      ...{ pinned, archived, labels, metadata, forkedFrom },
      ...{ createdAt, updatedAt, activeAt },
    },
    operation,
    signal,
  });
}

/** @throws StoreError `INVALID_STATE` that names the problem. */
function parseExport<M extends Identified>({ check }: ChatContext<M>, data: unknown) {
  const { type, version } = Object(data) as { type?: unknown; version?: unknown };
  if (type !== "scrollback.chat") refuse(`type must be "scrollback.chat"`);
  if (version !== 1) refuse("version must be 1; was it written by a newer version of Scrollback?");
  try {
    const { chat, entries } = decodeExport(data as ChatExport);
    const { title, titleBy, titleOf, pinned, archived, labels, metadata, forkedFrom } = chat;
    const fields = { title, titleBy, pinned, archived, labels, metadata };
    checkPatch("import", fields);
    if (forkedFrom !== undefined && optionChecks.create.forkedFrom(forkedFrom))
      refuse("forkedFrom must be two ids");
    const isTitleMade = titleBy === "text" || titleBy === "model";
    if (titleOf !== undefined && (isMessageId(titleOf) || !isTitleMade))
      refuse(`titleOf must be the id of a message, with the titleBy "text" or "model"`);
    const problems = Object.entries(requiredFields).flatMap(([name, check]) => {
      const problem = check(chat[name as keyof typeof requiredFields]);
      return problem === undefined ? [] : `chat.${name} ${problem}`;
    });
    if (problems.length > 0) refuse(problems.join("; "));
    if (!Array.isArray(entries)) refuse("entries must be an array");
    entries.forEach(checkEntry);
    checkNewMessages(
      "import",
      entries.map(({ message }) => message),
      check,
    );
    return { chat, entries: entries as ChatEntry<M>[] };
  } catch (cause) {
    if (StoreError.is(cause, "INVALID_STATE")) throw cause;
    // The checks of arguments begin with the method.
    const problem = StoreError.is(cause)
      ? cause.message.replace(/^import: /, "")
      : "it is not what export returns";
    throw new StoreError("INVALID_STATE", `import: ${problem}`, { cause });
  }
}

function checkEntry(entry: ChatEntry<unknown>, index: number): void {
  const { createdAt, updatedAt, status, error } = entry;
  const problems = Object.entries({
    createdAt: isRecordTime(createdAt),
    updatedAt: isRecordTime(updatedAt),
    status: isStatus(status),
    error: error === undefined ? undefined : isText(error),
  }).flatMap(([name, problem]) => (problem === undefined ? [] : `entries[${index}].${name} ${problem}`));
  if (problems.length > 0) refuse(problems.join("; "));
}

function refuse(problem: string): never {
  throw new StoreError("INVALID_STATE", `import: ${problem}`);
}

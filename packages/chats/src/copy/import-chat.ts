import { hash } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import { isObject, isOneOf } from "@scrollback/store-core/driver";
import { encodeWrapped, isBoolean, isRecordTime, isText } from "@scrollback/store-core/internal";
import type { Chat, ChatEntry, Identified } from "../chat.ts";
import { checkNewMessages, checkPatch, isMessageId, optionChecks } from "../checks.ts";
import type { ChatContext } from "../read/context.ts";
import type { StoredEntry } from "../read/entries.ts";
import { operationOf } from "../read/head.ts";
import { MAX_CONTINUATIONS } from "../siblings/continuations.ts";
import type { ChatContinuation } from "../siblings/copied-continuations.ts";
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
  const { chat, entries, continuations } = parseExport<M>(context, data);
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
    continuations,
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
function parseExport<M extends Identified>(context: ChatContext<M>, data: unknown) {
  const { check } = context;
  const { type, version } = Object(data) as { type?: unknown; version?: unknown };
  if (type !== "scrollback.chat") refuse(`type must be "scrollback.chat"`);
  if (version !== 2) refuse("version must be 2; was it written by a newer version of Scrollback?");
  try {
    const { chat, entries, continuations } = decodeExport(data as ChatExport);
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
    checkContinuations(context, entries, continuations);
    return {
      ...{ chat, entries: entries as ChatEntry<M>[] },
      continuations: (continuations as readonly ChatContinuation<M>[]).map((one) => ({
        ...one,
        entries: one.entries.map((entry) => copied({ ...entry, writes: 0 }, context.closeAnswer)),
      })),
    };
  } catch (cause) {
    if (StoreError.is(cause, "INVALID_STATE")) throw cause;
    // The checks of arguments begin with the method.
    const problem = StoreError.is(cause)
      ? cause.message.replace(/^import: /, "")
      : "it is not what export returns";
    throw new StoreError("INVALID_STATE", `import: ${problem}`, { cause });
  }
}

/** Refuses continuations that branch off nothing, or that have the id of a sibling. */
function checkContinuations<M extends Identified>(
  { check }: ChatContext<M>,
  path: readonly ChatEntry<unknown>[],
  continuations: readonly ChatContinuation<unknown>[],
): void {
  if (!Array.isArray(continuations) || continuations.length > MAX_CONTINUATIONS)
    refuse(`continuations must be an array of at most ${MAX_CONTINUATIONS}`);
  const idOf = ({ message }: ChatEntry<unknown>) => (message as Identified).id;
  const branches = new Map<string | undefined, readonly string[]>([[undefined, path.map(idOf)]]);
  const places = new Set<string>();
  for (const [index, one] of continuations.entries()) {
    const { id, in: of, behind, leftAt, entries } = Object(one) as ChatContinuation<unknown>;
    const name = `continuations[${index}]`;
    const branch = branches.get(of);
    if (isText(id) || id === "" || branches.has(id)) refuse(`${name}.id must be new`);
    if (!branch) refuse(`${name}.in must be the id of an earlier one`);
    const before = behind === null && of === undefined ? -1 : branch.lastIndexOf(String(behind));
    if (before < 0 && behind !== null) refuse(`${name}.behind must be a message that it follows`);
    if (isRecordTime(leftAt)) refuse(`${name}.leftAt ${isRecordTime(leftAt)}`);
    if (!Array.isArray(entries) || entries.length === 0) refuse(`${name}.entries must not be empty`);
    entries.forEach(checkEntry);
    checkNewMessages(
      "import",
      entries.map(({ message }) => message),
      check,
    );
    const ids = entries.map(idOf);
    const place = JSON.stringify([of, behind, ids[0]]);
    if (ids[0] === branch[before + 1] || places.has(place))
      refuse(`${name} must begin with another id than its siblings`);
    places.add(place);
    branches.set(id, ids);
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

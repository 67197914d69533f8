import { StoreError } from "@scrollback/store-core";
import { isObject, isOneOf } from "@scrollback/store-core/driver";
import { encodeWrapped, isBoolean, isRecordTime, isText, sha256 } from "@scrollback/store-core/internal";
import type { Chat, ChatEntry, Identified } from "../chat.ts";
import { checkNewMessages, checkPatch, isMessageId, optionChecks } from "../checks.ts";
import type { ChatContext } from "../read/context.ts";

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
    operationId === undefined ? undefined : operationOf(operationId, "import", sha256(encodeWrapped(data)));
  const location = locationOf(owner, chatId);
  const extracted = (all: readonly ChatEntry<M>[]) =>
    all.map(({ files, message, ...entry }) =>
      copied({ ...entry, message: context.files.extract(location, message), writes: 0 }, context.closeAnswer),
    );
  return await copyChat(context, location, {
    method: "import",
    entries: extracted(entries),
    continuations: continuations.map((one) => ({ ...one, entries: extracted(one.entries) })),
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
      continuations: continuations as readonly ChatContinuation<M>[],
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
  /** The ids of a branch: those before `from` are of the branch that it leaves. */
  const branches = new Map<string | undefined, { readonly ids: readonly string[]; readonly from: number }>();
  branches.set(undefined, { ids: path.map(idOf), from: 0 });
  const firsts = new Set<string>();
  for (const [index, one] of continuations.entries()) {
    const { id, in: of, behind, leftAt, entries } = Object(one) as ChatContinuation<unknown>;
    const name = `continuations[${index}]`;
    const branch = branches.get(of);
    if (isText(id) || id === "" || branches.has(id)) refuse(`${name}.id must be new`);
    if (!branch) refuse(`${name}.in must be the id of an earlier one`);
    const before = branch.ids.lastIndexOf(String(behind));
    if (before < branch.from && (behind !== null || of !== undefined))
      refuse(`${name}.behind must be a message that it follows`);
    if (isRecordTime(leftAt)) refuse(`${name}.leftAt ${isRecordTime(leftAt)}`);
    if (!Array.isArray(entries) || entries.length === 0) refuse(`${name}.entries must not be empty`);
    entries.forEach(checkEntry);
    const earlier = behind === null ? [] : branch.ids.slice(0, before + 1);
    const messages = entries.map(({ message }) => message) as Identified[];
    checkNewMessages("import", messages, check);
    const ids = messages.map((message) => message.id);
    const [first = "", ...later] = ids;
    if (firsts.has(first) || branch.ids[earlier.length] === first)
      refuse(`${name} must begin with an id that no sibling has`);
    if ([first, ...later].some((known) => earlier.includes(known)))
      refuse(`${name}.entries must have other ids than the messages before them`);
    firsts.add(first);
    branches.set(id, { ids: [...earlier, ...ids], from: earlier.length });
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

/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */

export { byteLength, decodeBase64, emitWarning, encodeBase64, sha256 } from "#runtime";
export {
  checkValue,
  isBoolean,
  isCount,
  isFunction,
  isIntegerUpTo,
  isPlainObject,
  isPositiveInteger,
  isSignal,
  isStoreFactory,
  isTablePrefix,
  isText,
  isTimerMs,
  isTtl,
} from "./arguments.ts";
export { guarded, reporter, resultNow } from "./callbacks.ts";
export { type Clock, sleep, systemClock } from "./clock.ts";
export { encodeWrapped, storedCopy } from "./codec/codec.ts";
export { isRecordTime } from "./codec/record.ts";
export { isSame } from "./codec/same.ts";
export { Contention } from "./contention.ts";
export { formatCursor, newIncarnation, parseRevision } from "./driver/revision.ts";
export { isUnfinishedCopy } from "./factory/copy-thread.ts";
export { contentCodecOf, nameOfText, plainIndexOf } from "./factory/factory.ts";
export { checkMessages, isCompactionPart, kindOf } from "./message/chat-message-traits.ts";
export {
  type Conversion,
  convertMessages,
  MessageLosses,
} from "./message/conversion.ts";
export { plainJson } from "./message/conversion-json.ts";
export { fileHeaders } from "./message/file-headers.ts";
export {
  fileContent,
  fileOfPart,
  fileSource,
  parseDataUrl,
  urlOfFile,
} from "./message/file-source.ts";
export {
  type HistoryTraits,
  keepsReasoning,
  pairedHistory,
  reportOnce,
  reportUnpaired,
} from "./message/history.ts";
export { modelHistory } from "./message/model-history.ts";
export { reducedHistory } from "./message/reduced-history.ts";
export {
  isContentPart,
  outputOfPart,
  textOfToolOutput,
  toolOutput,
} from "./message/tool-output.ts";
export { randomText, uuidV7 } from "./random.ts";
export { RecentMap } from "./recent-map.ts";
export { pause, retry, untilAborted } from "./retry.ts";
export { ThreadReader } from "./store/thread-reader.ts";

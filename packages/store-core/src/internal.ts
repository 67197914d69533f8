/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
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
  isText,
  isTimerMs,
  isTtl,
} from "./arguments.ts";
export { CALLBACK_MS, callWithin, guarded, reporter, resultNow } from "./callbacks.ts";
export { type Clock, systemClock } from "./clock.ts";
export { encodeWrapped, storedCopy } from "./codec/codec.ts";
export { isRecordTime, MISSING_MESSAGE, type ThreadEntry } from "./codec/record.ts";
export type { MessageKind } from "./codec/record-location.ts";
export { newIncarnation, parseRevision } from "./driver/revision.ts";
export { isUnfinishedCopy } from "./factory/copy-thread.ts";
export { MemoryIndex } from "./memory/memory-index.ts";
export { isBlankText } from "./message/blank-messages.ts";
export {
  type Conversion,
  checkMessages,
  convertMessages,
  MessageLosses,
} from "./message/conversion.ts";
export { plainJson } from "./message/conversion-json.ts";
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
export {
  isCompactionPart,
  kindOf,
  SUMMARY_MARK,
} from "./message/message.ts";
export { modelHistory } from "./message/model-history.ts";
export { reducedHistory } from "./message/reduced-history.ts";
export {
  isContentPart,
  outputOfPart,
  textOfToolOutput,
  toolOutput,
} from "./message/tool-output.ts";
export { pause, retry, untilAborted } from "./retry.ts";
export { emitWarning, unrefTimer } from "./runtime.ts";
export { ThreadReader } from "./store/thread-reader.ts";

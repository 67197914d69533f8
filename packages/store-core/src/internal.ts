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
  isPlainObject,
  isPositiveInteger,
  isSignal,
  isStoreFactory,
  isText,
  isTimerMs,
  LONGEST_TTL_MS,
} from "./arguments.ts";
export { CALLBACK_MS, callNow, callWithin, reporter, resultNow } from "./callbacks.ts";
export { isRecordTime } from "./codec/record.ts";
export { newIncarnation } from "./driver/incarnation.ts";
export { isUnfinishedCopy } from "./factory/copy-thread.ts";
export { isBlankText } from "./message/blank-messages.ts";
export {
  type Conversion,
  checkMessages,
  convertMessages,
  type Lost,
  MessageLosses,
} from "./message/conversion.ts";
export { parseJson, plainJson } from "./message/conversion-json.ts";
export {
  fileContent,
  fileOfPart,
  fileSource,
  type PartFile,
  parseDataUrl,
  urlOfFile,
} from "./message/file-source.ts";
export {
  chatHistoryTraits,
  type HistoryTraits,
  keepsReasoning,
  type PairedHistory,
  pairedHistory,
  type ReportTarget,
  reportOnce,
  reportUnpaired,
} from "./message/history.ts";
export { isCompactionPart, type ProviderOptions, SUMMARY_MARK } from "./message/message.ts";
export { modelHistory } from "./message/model-history.ts";
export { storedCopy } from "./message/stored-copy.ts";
export {
  isContentPart,
  outputOfPart,
  type ToolOutput,
  textOfToolOutput,
  toolOutput,
} from "./message/tool-output.ts";
export { abortedError, pause, type Retries, retry, throwIfAborted, untilAborted } from "./retry.ts";
export { emitWarning, unrefTimer } from "./runtime.ts";
export { ThreadReader } from "./store/thread-reader.ts";

export { type ErrorTable, errorTable, isCertificateError, isNetworkError } from "./errors.ts";
export {
  CONNECT_TIMEOUT_MS,
  isUrl,
  REPLY_TIMEOUT_MS,
  type UrlOrClient,
  urlOrClient,
} from "./options.ts";
export { PendingCalls } from "./pending-calls.ts";

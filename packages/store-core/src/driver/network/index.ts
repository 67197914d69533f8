export { type ErrorTable, errorTable, isCertificateError, isNetworkError, refusal } from "./errors.ts";
export {
  CONNECT_TIMEOUT_MS,
  clientFrom,
  isUrl,
  REPLY_TIMEOUT_MS,
  type UsedClient,
} from "./options.ts";
export { disconnectInTime, PendingCalls } from "./pending-calls.ts";
export { type ConnectionPool, type ConnectionVerdict, ignoreErrors, PooledCalls } from "./pooled-calls.ts";

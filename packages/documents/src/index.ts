export {
  type DocumentCapabilities,
  type DocumentDatabase,
  type Head,
  type HeadListing,
  type HeadsRequest,
  type LoadedHead,
  type Page,
  type ReadFrom,
  type StoredMessage,
  type Swap,
  tokenOf,
} from "./database.ts";
export { DocumentDriver } from "./document-driver.ts";
export { DocumentJson } from "./json.ts";
export { MemoryDocuments } from "./memory-documents.ts";

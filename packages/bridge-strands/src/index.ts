export { ScrollbackStorage, type ScrollbackStorageOptions } from "./scrollback-storage.ts";

export { ScrollbackStorage } from "./scrollback-storage.ts";

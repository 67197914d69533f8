export { ScrollbackSaver, type ScrollbackSaverOptions } from "./saver.ts";

export { ScrollbackSaver, type ScrollbackSaverOptions } from "./saver/saver.ts";

export { ScrollbackSaver } from "./saver.ts";
export type { ScrollbackSaverOptions } from "./saver-options.ts";

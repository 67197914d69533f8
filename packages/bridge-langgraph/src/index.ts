export { ScrollbackSaver } from "./saver/saver.ts";
export type { ScrollbackSaverOptions } from "./saver/saver-options.ts";

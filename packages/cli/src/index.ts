export type { CliOptions } from "./command-context.ts";
export type { Environment } from "./environment.ts";
export { exitCodes } from "./exit-codes.ts";
export type { OutputStream } from "./output.ts";
export { runCli } from "./run-cli.ts";

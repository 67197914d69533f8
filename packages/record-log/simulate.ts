/**
 * Runs simulate-sources.ts, which says what it takes, with the packages' sources instead of their builds:
 * `node packages/record-log/simulate.ts --steps 1000000`.
 */
import { fork } from "node:child_process";

const execArgv = [...process.execArgv, "--conditions=scrollback-source"];
const program = new URL("./simulate-sources.ts", import.meta.url);
fork(program, process.argv.slice(2), { execArgv }).once("close", (code) => {
  process.exitCode = code ?? 1;
});

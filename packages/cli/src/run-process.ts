// Runs the command line of this process.
import { constants } from "node:os";
import { Interruption } from "./output/exit-codes.ts";
import { outputError } from "./output/output.ts";
import { runCli } from "./run-cli.ts";

const { argv, env, stdin, stdout, stderr } = process;
const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    const reason = new Interruption(name, constants.signals[name]);
    // The second signal does not wait for pending work.
    if (interruption.signal.aborted) process.exit(reason.exitCode);
    interruption.abort(reason);
  });
}
stdout.on("error", (error) => interruption.abort(outputError(error)));
// A message that can no longer be written is dropped.
stderr.on("error", () => undefined);

process.exitCode = await runCli({
  args: argv.slice(2),
  env,
  stdin,
  stdout,
  stderr,
  signal: interruption.signal,
});

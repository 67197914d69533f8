/**
 * `node prepare.ts [name…]` prepares the named servers, or all of them and the browser, and prints its steps. Where packages can be
 * installed it installs and starts a Docker engine if none replies, and builds stand-ins for official images that cannot be pulled.
 * It can be run repeatedly, and by several processes at once: one of them prepares, the others wait.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { BROWSER, browserPrograms, findBrowser } from "./browser.ts";
import { hasEngine } from "./docker.ts";
import { canInstall, environment, hasProgram, installPrograms, retryFor, say, step } from "./programs.ts";
import { type ServerDefinition, type ServerName, servers, variableOf } from "./servers.ts";
import { buildStandIn } from "./stand-in.ts";
import { findImage, presentImage, pull, startServer } from "./start.ts";
import { tlsPrograms } from "./tls.ts";

type Name = ServerName | typeof BROWSER;

const everything = [...Object.keys(servers), BROWSER];
const isName = (name: string): name is Name => everything.includes(name);
const isGiven = (name: Name) => name !== BROWSER && process.env[variableOf(name, "URL")] !== undefined;

/** Whether nothing has to be installed, pulled or built. Asks no registry. */
async function isPrepared(name: Name): Promise<boolean> {
  if (name === BROWSER) return Object.keys(browserPrograms()).every(hasProgram);
  return (
    isGiven(name) || (Object.keys(tlsPrograms).every(hasProgram) && (await presentImage(name)) !== undefined)
  );
}

const logFile = "/var/log/scrollback-dockerd.log";

/** Installs an engine if there is none, and starts it if none replies. It keeps running after this process has ended. */
async function startEngine(): Promise<void> {
  if (await hasEngine()) return;
  say("no Docker engine answers");
  await installPrograms({ dockerd: "docker.io", "update-ca-certificates": "ca-certificates" });
  // In newer suites the client is a separate package.
  await installPrograms({ docker: "docker-cli" });
  await step(`starting dockerd, which logs to ${logFile}`, async () => {
    const log = openSync(logFile, "a");
    spawn("dockerd", { detached: true, stdio: ["ignore", log, log], env: environment }).unref();
    await retryFor(30_000, async () => {
      if (!(await hasEngine())) throw new Error(`dockerd did not start within 30 s; see ${logFile}`);
    });
  });
}

/** Returns what was prepared, in words. */
async function prepare(name: Name): Promise<string> {
  if (name === BROWSER) {
    if (canInstall()) await installPrograms(browserPrograms());
    return `${BROWSER} is ${findBrowser()}`;
  }
  if (isGiven(name)) {
    const { product, version } = await startServer(name);
    return `${name} is the ${product} ${version} given by ${variableOf(name, "URL")}`;
  }
  if (canInstall()) {
    const { image, standIn }: ServerDefinition = servers[name];
    await installPrograms({ ...tlsPrograms, ...standIn.programs });
    const refusal = (await presentImage(name)) === undefined ? await pull(image) : undefined;
    if (refusal !== undefined) {
      say(`${image} cannot be pulled: ${refusal}`);
      await buildStandIn(name);
    }
  }
  return `${name} runs on ${await findImage(name)}`;
}

async function prepareAll(names: readonly Name[]): Promise<void> {
  if (canInstall() && names.some((name) => name !== BROWSER && !isGiven(name))) await startEngine();
  const failed = new Map<string, string[]>();
  const results = await Promise.allSettled(names.map(prepare));
  for (const [index, name] of names.entries()) {
    const result = results[index];
    if (result?.status === "fulfilled") say(result.value);
    else {
      const message = result?.reason instanceof Error ? result.reason.message : String(result?.reason);
      failed.set(message, [...(failed.get(message) ?? []), name]);
    }
  }
  for (const [message, names] of failed) say(`${names.join(", ")} failed: ${message}`);
  if (failed.size > 0) process.exitCode = 1;
}

/** Runs `work` under a lock of this machine. The program that holds it ends with its standard input, so with this process. */
async function alone(work: () => Promise<void>): Promise<void> {
  const held = ["/var/lock/scrollback-servers.lock", "sh", "-c", "echo held; cat"];
  const holder = spawn("flock", held, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = setTimeout(() => say("waiting for another process that prepares servers"), 500);
  try {
    await once(holder.stdout, "data");
    clearTimeout(waiting);
    await work();
  } finally {
    const ended = once(holder, "exit");
    holder.stdin.end();
    await ended;
  }
}

const named = process.argv.slice(2);
const unknown = named.find((name) => !isName(name));
if (unknown === undefined) {
  const names = (named.length === 0 ? everything : named).filter(isName);
  const prepared = await Promise.all(names.map(isPrepared));
  if (prepared.every(Boolean) || !canInstall()) await prepareAll(names);
  else await alone(() => prepareAll(names));
} else {
  say(`unknown server "${unknown}"; known servers are ${everything.join(", ")}`);
  process.exitCode = 1;
}

/**
 * `node prepare.ts [name…]` prepares the named servers, or all of them and the browser, side by side, and prints its steps.
 * It can be run repeatedly, and by several processes at once: one of them prepares, the others wait.
 */
import { BROWSER, browserPrograms, findBrowser } from "./browser.ts";
import { variableOf } from "./definition.ts";
import { findEngine } from "./engine.ts";
import { findPresentImage } from "./image.ts";
import { alone } from "./lock.ts";
import { type Plan, planImages, prepareImage } from "./prepare-image.ts";
import { canInstall, hasProgram, installPrograms, type Packages, say } from "./programs.ts";
import { type ServerName, servers } from "./servers.ts";
import { startServer } from "./start.ts";
import { tlsPrograms } from "./tls.ts";

type Name = ServerName | typeof BROWSER;

const everything = [...Object.keys(servers), BROWSER];

function isName(name: string): name is Name {
  return everything.includes(name);
}

function isGiven(name: Name): boolean {
  return name !== BROWSER && process.env[variableOf(name, "URL")] !== undefined;
}

function programsOf(name: Name): Packages {
  if (isGiven(name)) return {};
  return name === BROWSER ? browserPrograms() : tlsPrograms;
}

/** Whether nothing has to be installed, pulled or built. Asks no registry. */
async function isPrepared(name: Name): Promise<boolean> {
  if (!Object.keys(programsOf(name)).every(hasProgram)) return false;
  if (name === BROWSER || isGiven(name)) return true;
  const engine = await findEngine();
  return engine !== undefined && (await findPresentImage(engine, servers[name])) !== undefined;
}

/** Begins after the plan, which installs the programs of all names at once. */
async function installFor(name: Name, plan: Promise<Plan>): Promise<void> {
  await plan.catch(() => undefined);
  if (canInstall()) await installPrograms(programsOf(name));
}

/** Returns what was prepared, in words. */
async function prepare(name: Name, plan: Promise<Plan>): Promise<string> {
  if (name === BROWSER) {
    await installFor(name, plan);
    return `${BROWSER} is ${findBrowser()}`;
  }
  if (isGiven(name)) {
    const { product, version } = await startServer(name);
    return `${name} is the ${product} ${version} given by ${variableOf(name, "URL")}`;
  }
  const [image] = await Promise.all([prepareImage(servers[name], plan), installFor(name, plan)]);
  return `${name} runs on ${image}`;
}

async function prepareAll(names: readonly Name[]): Promise<void> {
  const images = names.flatMap((name) => (name === BROWSER || isGiven(name) ? [] : [servers[name]]));
  const others: Packages = Object.assign({}, ...names.map(programsOf));
  const plan = images.length === 0 ? Promise.resolve(new Map<string, string>()) : planImages(images, others);
  const failed = new Map<string, string[]>();
  const results = await Promise.allSettled(names.map((name) => prepare(name, plan)));
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

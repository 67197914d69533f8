/**
 * `node prepare.ts [name…]` prepares the named servers, or all of them and the browser, and prints its steps.
 * It can be run repeatedly, and by several processes at once.
 */
import { BROWSER, prepareBrowser } from "./browser.ts";
import { prepareImage } from "./prepare-image.ts";
import { say } from "./programs.ts";
import { type ServerName, servers } from "./servers.ts";
import { startServer } from "./start.ts";
import { prepareTls } from "./tls.ts";
import { variableOf } from "./variables.ts";

function isServerName(name: string): name is ServerName {
  return Object.hasOwn(servers, name);
}

const everything = [...Object.keys(servers), BROWSER];

async function prepare(name: string): Promise<void> {
  if (name === BROWSER) return prepareBrowser();
  if (!isServerName(name))
    throw new Error(`unknown server "${name}"; known servers are ${everything.join(", ")}`);
  const variable = variableOf(name, "URL");
  if (process.env[variable] === undefined) {
    await prepareTls();
    say(`${name} runs on ${await prepareImage(servers[name])}`);
  } else {
    const { product, version } = await startServer(name);
    say(`${name} is the ${product} ${version} given by ${variable}`);
  }
}

const names = process.argv.slice(2);
try {
  for (const name of names.length === 0 ? everything : names) await prepare(name);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ServerDefinition, StandIn } from "./definition.ts";
import { installPrograms, run, say } from "./programs.ts";

const repository = "scrollback-stand-in";

/** The files of every base image in addition to the packages of its suite. */
const baseFiles: Readonly<Record<string, string>> = {
  // Keeps services from starting while packages are installed.
  "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
  // Suites in development may have an expired Release file.
  "etc/apt/apt.conf.d/90scrollback": 'Acquire::Check-Valid-Until "false";\nAcquire::Retries "3";\n',
};

/** The name of the stand-in image, which changes with each of its inputs. */
export async function standInTag({ name, standIn }: ServerDefinition): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([standIn.suite, baseFiles]));
  const folder = contextOf(name);
  for (const file of (await readdir(folder)).sort())
    hash.update(`\0${file}\0`).update(await readFile(join(folder, file)));
  return `${repository}/${name}:${hash.digest("hex").slice(0, 12)}`;
}

/** Builds the stand-in image from packages, and its base image if that is missing. Requires root. */
export async function buildStandIn(definition: ServerDefinition): Promise<void> {
  const { name, standIn } = definition;
  const base = await prepareBase(standIn.suite);
  await withFolder(async (folder) => {
    await cp(contextOf(name), folder, { recursive: true });
    if (standIn.download !== undefined) {
      say(`downloading what ${name} is made of`);
      await standIn.download(folder);
    }
    say(`building a stand-in for ${definition.image} from packages`);
    const tag = await standInTag(definition);
    await run("docker", ["build", "--network", "host", "--build-arg", `BASE=${base}`, "--tag", tag, folder]);
  });
}

/** Relative to the package's root, because these folders are not copied beside the compiled modules. */
function contextOf(name: string): string {
  let root = import.meta.dirname;
  while (!existsSync(join(root, "package.json"))) root = dirname(root);
  return join(root, "servers", name, "image");
}

async function prepareBase(suite: StandIn["suite"]): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(baseFiles)).digest("hex");
  const tag = `${repository}/debian-${suite}:${hash.slice(0, 12)}`;
  if ((await run("docker", ["images", "--quiet", tag])) !== "") return tag;
  await installPrograms({ debootstrap: "debootstrap" });
  say(`building a base image of Debian ${suite}`);
  await withFolder(async (folder) => {
    const root = join(folder, "root");
    const script = "/usr/share/debootstrap/scripts/sid";
    await run("debootstrap", ["--variant=minbase", suite, root, "", script]);
    for (const [path, content] of Object.entries(baseFiles)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    }
    await chmod(join(root, "usr/sbin/policy-rc.d"), 0o755);
    const archive = join(folder, "root.tar");
    const unused = [
      "var/cache/apt/*",
      "var/lib/apt/lists/*",
      "usr/share/doc/*",
      "usr/share/locale/*",
      "usr/share/man/*",
    ];
    await run("tar", ["-C", root, ...unused.map((path) => `--exclude=./${path}`), "-cf", archive, "."]);
    await run("docker", ["import", archive, tag]);
  });
  return tag;
}

/** A folder for the duration of `work` in which devices can be created and programs run, unlike in some /tmp. */
async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp("/var/tmp/scrollback-");
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

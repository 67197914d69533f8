import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasImage } from "./docker.ts";
import { installPrograms, run, step } from "./programs.ts";
import { type ServerDefinition, type ServerName, servers } from "./servers.ts";

const repository = "scrollback-stand-in";

/** The files of every base image in addition to the packages of its suite. */
const baseFiles: Readonly<Record<string, string>> = {
  // Keeps services from starting while packages are installed.
  "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
  // Suites in development may have an expired Release file.
  "etc/apt/apt.conf.d/90scrollback": 'Acquire::Check-Valid-Until "false";\nAcquire::Retries "3";\n',
};

/** More files of every base image, which change how long a build takes, not its result, and so no image's name. */
const quickFiles: Readonly<Record<string, string>> = {
  "etc/apt/apt.conf.d/91scrollback": 'Acquire::Languages "none";\n',
  "etc/dpkg/dpkg.cfg.d/scrollback": "force-unsafe-io\n",
};

/** The name of the stand-in image, which changes with each of its inputs. */
export async function standInTag(name: ServerName): Promise<string> {
  const { standIn } = servers[name];
  const hash = createHash("sha256").update(JSON.stringify([standIn.suite, baseFiles]));
  const folder = contextOf(name);
  for (const file of (await readdir(folder)).sort())
    hash.update(`\0${file}\0`).update(await readFile(join(folder, file)));
  return `${repository}/${name}:${hash.digest("hex").slice(0, 12)}`;
}

/** Builds the stand-in image from packages, and its base image if that is missing. Requires root. */
export async function buildStandIn(name: ServerName): Promise<void> {
  const { image, standIn }: ServerDefinition = servers[name];
  const base = prepareBase(standIn.suite);
  await withFolder(async (folder) => {
    await cp(contextOf(name), folder, { recursive: true });
    if (standIn.download !== undefined) {
      await installPrograms(standIn.programs ?? {});
      await step(`downloading what ${name} is made of`, async () => standIn.download?.(folder));
    }
    const args = ["--network", "host", "--build-arg", `BASE=${await base}`, "--tag", await standInTag(name)];
    await step(`building a stand-in for ${image} from packages`, () =>
      run("docker", ["build", ...args, folder]),
    );
  });
}

/** Relative to the package's root, because these folders are not copied beside the compiled modules. */
function contextOf(name: string): string {
  let root = import.meta.dirname;
  while (!existsSync(join(root, "package.json"))) root = dirname(root);
  return join(root, "servers/images", name);
}

const bases = new Map<string, Promise<string>>();

/** The base image of a suite, built once for all servers. */
function prepareBase(suite: string): Promise<string> {
  const begun = bases.get(suite) ?? buildBase(suite);
  bases.set(suite, begun);
  // Its callers await it later, beside their downloads.
  begun.catch(() => undefined);
  return begun;
}

async function buildBase(suite: string): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(baseFiles)).digest("hex");
  const tag = `${repository}/debian-${suite}:${hash.slice(0, 12)}`;
  if (await hasImage(tag)) return tag;
  await installPrograms({ debootstrap: "debootstrap" });
  await withFolder((folder) =>
    step(`building a base image of Debian ${suite}`, async () => {
      const root = join(folder, "root");
      const script = "/usr/share/debootstrap/scripts/sid";
      await run("debootstrap", ["--variant=minbase", suite, root, "", script]);
      for (const [path, content] of Object.entries({ ...baseFiles, ...quickFiles })) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), content);
      }
      await chmod(join(root, "usr/sbin/policy-rc.d"), 0o755);
      const archive = join(folder, "root.tar");
      const unused = [
        "var/cache/apt/*",
        "var/lib/apt/lists/*",
        ...["doc", "locale", "man"].map((name) => `usr/share/${name}/*`),
      ];
      await run("tar", ["-C", root, ...unused.map((path) => `--exclude=./${path}`), "-cf", archive, "."]);
      await run("docker", ["import", archive, tag]);
    }),
  );
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

import { join } from "node:path";
import { run } from "../programs.ts";
import { defineRedis } from "../redis/family.ts";

/** Debian has no Redis 6.2; the stand-in is made from a Python package that bundles its programs. */
export const redis62 = defineRedis({
  name: "redis-6.2",
  image: "redis:6.2",
  serverProgram: "redis-server",
  cliProgram: "redis-cli",
  standIn: {
    suite: "forky",
    programs: { pip3: "python3-pip" },
    async download(folder) {
      const wheel = [
        "--only-binary",
        ":all:",
        "--platform",
        "manylinux2014_x86_64",
        "--python-version",
        "3.11",
      ];
      const from = ["--requirement", join(folder, "requirements.txt"), "--require-hashes", "--no-deps"];
      await run("pip3", ["install", ...from, ...wheel, "--target", join(folder, "packages")]);
    },
  },
});

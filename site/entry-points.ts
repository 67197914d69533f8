import { join } from "node:path";
import { publishedPackages } from "../scripts/published-packages.ts";

export interface EntryPoint {
  /** The name in an import. */
  readonly name: string;
  /** The path of the source file in the repository. */
  readonly file: string;
  /** The purpose of the package, at its main entry point. */
  readonly description?: string;
}

/** Each entry point of each published package, without those that only our own packages use. */
export function entryPoints(): EntryPoint[] {
  return publishedPackages().flatMap(({ name, description, folder, exports }) => {
    const promised = Object.entries(exports).filter(([path]) => !path.endsWith("/internal"));
    return promised.map(([path, { default: code }]) => {
      const source = code
        .replace("./dist/", folder.startsWith("packages/") ? "src/" : "")
        .replace(/\.js$/, ".ts");
      return {
        name: join(name, path),
        file: join(folder, source),
        ...(path === "." ? { description } : {}),
      };
    });
  });
}

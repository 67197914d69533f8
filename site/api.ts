/** Writes the reference of the public API as Markdown, by TypeDoc from the TSDoc of each package's entry points. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Application, type TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { root, staged } from "./places.ts";

/** The source file of each entry point of each published package, by the name that an import has. */
export function entryPoints(): Map<string, string> {
  const entries = new Map<string, string>();
  for (const manifest of globSync("{packages/*,conformance-tests}/package.json", { cwd: root }).sort()) {
    const { name, exports } = JSON.parse(readFileSync(join(root, manifest), "utf8"));
    for (const [path, { default: code }] of Object.entries<{ default: string }>(exports)) {
      const source = code
        .replace("./dist/", manifest.startsWith("packages/") ? "src/" : "")
        .replace(/\.js$/, ".ts");
      entries.set(join(name, path), join(dirname(manifest), source));
    }
  }
  return entries;
}

export async function writeApi(): Promise<void> {
  const entries = entryPoints();
  const options: TypeDocOptions & Partial<PluginOptions> = {
    entryPoints: [...entries.values()].map((file) => join(root, file)),
    tsconfig: join(import.meta.dirname, "tsconfig.api.json"),
    plugin: ["typedoc-plugin-markdown"],
    out: join(staged, "reference/api"),
    readme: "none",
    disableSources: true,
    excludeExternals: true,
    excludePrivate: true,
    excludeInternal: true,
    skipErrorChecking: true,
    logLevel: "Error",
    router: "module",
    entryFileName: "index",
    fileExtension: ".md",
    // Its own anchors: members of different things may have one heading.
    useHTMLAnchors: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    typeAliasPropertiesFormat: "table",
    enumMembersFormat: "table",
    validation: false,
  };
  const app = await Application.bootstrapWithPlugins(options);
  const names = new Map([...entries].map(([name, file]) => [join(root, file), name]));
  const points = app.getEntryPoints() ?? [];
  // TypeDoc names modules by their files; readers know them by what they import.
  const named = points.map((point) => ({
    ...point,
    displayName: names.get(point.sourceFile.fileName) ?? point.displayName,
  }));
  const project = app.converter.convert(named);
  if (app.logger.hasErrors()) throw new Error("TypeDoc could not read the packages");
  await app.generateOutputs(project);
}

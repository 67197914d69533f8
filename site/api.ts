/** Writes the reference of the public API as Markdown, by TypeDoc from the TSDoc of each package's entry points. */
import { join } from "node:path";
import { Application, Comment, type TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { entryPoints } from "./entry-points.ts";
import { root, staged } from "./places.ts";

export async function writeApi(): Promise<void> {
  const entries = entryPoints();
  const options: TypeDocOptions & Partial<PluginOptions> = {
    name: "API reference",
    entryPoints: entries.map(({ file }) => join(root, file)),
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
    // TypeDoc's own anchors, because members of different symbols may have the same heading.
    useHTMLAnchors: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    indexFormat: "table",
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    typeAliasPropertiesFormat: "table",
    enumMembersFormat: "table",
    tableColumnSettings: { hideInherited: true, hideOverrides: true, hideSources: true },
    validation: false,
  };
  const app = await Application.bootstrapWithPlugins(options);
  const named = new Map(entries.map((entry) => [join(root, entry.file), entry]));
  // TypeDoc names modules by their files. Readers know them by their import names.
  const points = (app.getEntryPoints() ?? []).map((point) => ({
    ...point,
    displayName: named.get(point.sourceFile.fileName)?.name ?? point.displayName,
  }));
  const project = app.converter.convert(points);
  if (app.logger.hasErrors()) throw new Error("TypeDoc could not read the packages");
  const descriptions = new Map(entries.map(({ name, description }) => [name, description]));
  for (const module of project.children ?? []) {
    const text = descriptions.get(module.name);
    if (text !== undefined) module.comment ??= new Comment([{ kind: "text", text: `${text}.` }]);
  }
  await app.generateOutputs(project);
}

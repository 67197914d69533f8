/**
 * `node own-errors.ts <compiler> <arguments of tsc>` prints the compiler's errors in the program and in the types of the
 * packages. It checks only those files, because checking the types of all other packages takes five times as long.
 */
import { createRequire } from "node:module";
import { resolve } from "node:path";

/** The part of TypeScript's API that this program uses. Each version has its own types. */
interface Compiler {
  parseCommandLine(args: readonly string[]): {
    readonly options: object;
    readonly fileNames: readonly string[];
    readonly errors: readonly object[];
  };
  createProgram(fileNames: readonly string[], options: object): Program;
  formatDiagnostics(diagnostics: readonly object[], host: object): string;
}

interface Program {
  getSourceFiles(): readonly { readonly fileName: string }[];
  getOptionsDiagnostics(): readonly object[];
  getGlobalDiagnostics(): readonly object[];
  getSyntacticDiagnostics(file: object): readonly object[];
  getSemanticDiagnostics(file: object): readonly object[];
}

const [name = "", ...args] = process.argv.slice(2);
const compiler: Compiler = createRequire(resolve("package.json"))(name);
const { options, fileNames, errors } = compiler.parseCommandLine(args);
const program = compiler.createProgram(fileNames, options);
const own = program
  .getSourceFiles()
  .filter(({ fileName }) => fileNames.includes(fileName) || fileName.includes("/@scrollback/"));
const diagnostics = [
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...own.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]),
];
const host = {
  getCurrentDirectory: () => process.cwd(),
  getCanonicalFileName: (fileName: string) => fileName,
  getNewLine: () => "\n",
};
process.stdout.write(compiler.formatDiagnostics(diagnostics, host));

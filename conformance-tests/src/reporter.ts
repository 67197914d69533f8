import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from "vitest/node";
import { type ClauseResult, formatMatrix, toMarkdown } from "./matrix.ts";

/** What {@link MatrixReporter} takes. */
export interface MatrixReporterOptions {
  /** Where to write the matrix as Markdown, from the project's root. Default: nowhere. */
  readonly file?: string;
}

/**
 * A Vitest reporter for the suite: says which server each backend runs on as soon as it is known, and prints the matrix of
 * clauses by backends in the end. The file is written by whole runs only: a run of some files or some tests leaves it.
 *
 * @example
 * reporters: ["default", new MatrixReporter({ file: "docs/matrix.md" })],
 */
export class MatrixReporter implements Reporter {
  readonly #file: string | undefined;
  readonly #announced = new Set<string>();
  #vitest: Vitest | undefined;
  #specifications = 0;

  constructor({ file }: MatrixReporterOptions = {}) {
    this.#file = file;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#specifications = specifications.length;
  }

  onTestCaseResult(test: TestCase): void {
    const { backend = "", server } = test.meta().conformance ?? {};
    if (!server || this.#announced.has(backend)) return;
    this.#announced.add(backend);
    this.#vitest?.logger.log(`conformance: ${backend} runs on ${server.product} ${server.version}`);
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const results: ClauseResult[] = [];
    let isWhole = modules.every((module) => module.errors().length === 0);
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { conformance } = test.meta();
        if (!conformance) continue;
        const outcome = outcomeOf(test);
        if (outcome) results.push({ ...conformance, outcome });
        else isWhole = false;
      }
    }
    if (results.length === 0 || !this.#vitest) return;
    const { logger, config } = this.#vitest;
    logger.log(`\n${formatMatrix(results)}\n`);
    if (this.#file === undefined) return;
    const all = await this.#vitest.globTestSpecifications();
    if (!isWhole || this.#specifications < all.length) {
      logger.log(`conformance: ${this.#file} is left as it is, as this run was not of all tests`);
      return;
    }
    const path = resolve(config.root, this.#file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, toMarkdown(results));
  }
}

/** Nothing for a test that a filter left out. */
function outcomeOf(test: TestCase): ClauseResult["outcome"] | undefined {
  const result = test.result();
  if (result.state === "passed" || result.state === "failed") return result.state;
  if (result.state === "skipped" && result.note !== undefined) return { leftOut: result.note };
  // Where a group's harness cannot be made, Vitest skips its tests.
  return test.parent.errors().length > 0 ? "failed" : undefined;
}

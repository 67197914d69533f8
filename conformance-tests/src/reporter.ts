/**
 * A Vitest reporter that prints the results of the conformance suite as a matrix and writes them as Markdown.
 *
 * @packageDocumentation
 */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from "vitest/node";
import { type ClauseResult, type FaultResult, faultsToMarkdown, toMarkdown } from "./matrix.ts";

/** The options of {@link MatrixReporter}. */
interface MatrixReporterOptions {
  /** The Markdown file of the matrix, relative to the project's root. Default: none is written. */
  readonly file?: string;
  /** The Markdown file of the fault tests' results, relative to the project's root. Default: none is written. */
  readonly faultsFile?: string;
}

/**
 * A Vitest reporter for the suite. Prints the server of each backend as soon as it is known, and at the end the matrix of
 * clauses by backends and the results of the fault tests. Only complete runs write the files: a run of some files or some
 * tests does not change them.
 *
 * @example
 * reporters: ["default", new MatrixReporter({ file: "docs/matrix.md" })],
 */
export class MatrixReporter implements Reporter {
  readonly #file: string | undefined;
  readonly #faultsFile: string | undefined;
  readonly #announced = new Set<string>();
  #vitest: Vitest | undefined;
  #specifications = 0;

  constructor({ file, faultsFile }: MatrixReporterOptions = {}) {
    this.#file = file;
    this.#faultsFile = faultsFile;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#specifications = specifications.length;
  }

  onTestCaseResult(test: TestCase): void {
    const { conformance, fault } = test.meta();
    const { backend = "", server } = conformance ?? fault ?? {};
    if (!server || this.#announced.has(backend)) return;
    this.#announced.add(backend);
    this.#vitest?.logger.log(`conformance: ${backend} runs on ${server.product} ${server.version}`);
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const results: ClauseResult[] = [];
    const faults: FaultResult[] = [];
    let isWhole = modules.every((module) => module.errors().length === 0);
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { conformance, fault } = test.meta();
        if (!conformance && !fault) continue;
        const outcome = outcomeOf(test);
        if (!outcome) isWhole = false;
        else if (conformance) results.push({ ...conformance, test: test.name, outcome });
        else if (fault) faults.push({ ...fault, outcome: faultOutcome(outcome, fault.figure) });
      }
    }
    if (results.length > 0) await this.#publish(this.#file, toMarkdown(results), isWhole);
    if (faults.length > 0) await this.#publish(this.#faultsFile, faultsToMarkdown(faults), isWhole);
  }

  async #publish(file: string | undefined, text: string, isWhole: boolean): Promise<void> {
    this.#vitest?.logger.log(`\n${text}`);
    if (file === undefined || !this.#vitest) return;
    const { logger, config } = this.#vitest;
    const all = await this.#vitest.globTestSpecifications();
    if (!isWhole || this.#specifications < all.length) {
      logger.log(`conformance: ${file} is left as it is, as this run was not of all tests`);
      return;
    }
    const path = resolve(config.root, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

function faultOutcome(outcome: ClauseResult["outcome"], figure = ""): FaultResult["outcome"] {
  return outcome === "passed" ? { figure } : outcome;
}

/** Undefined for a test that a filter excluded. */
function outcomeOf(test: TestCase): ClauseResult["outcome"] | undefined {
  const result = test.result();
  if (result.state === "passed" || result.state === "failed") return result.state;
  if (result.state === "skipped" && result.note !== undefined) return { leftOut: result.note };
  // If a group's harness cannot be created, Vitest skips its tests.
  return test.parent.errors().length > 0 ? "failed" : undefined;
}

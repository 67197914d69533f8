/** A path of LangGraph's IndexConfig: `$` for the whole value, or fields and places in arrays, such as `chapters[*].text`, `[0]`, `[-1]`. */
const path = /^(?:\$|(?:[^.[\]{}*]+|\[(?:\*|-?\d+)\])(?:\.[^.[\]{}*]+|\[(?:\*|-?\d+)\])*)$/;

/** Whether a value is a path. */
export function isPath(value: unknown): value is string {
  return typeof value === "string" && path.test(value);
}

/**
 * The texts at a path, as LangGraph's InMemoryStore takes them; what the package exports for it finds less. Numbers and booleans are texts,
 * objects and arrays are texts as JSON.
 *
 * @throws TypeError for a value that JSON does not have.
 */
export function textsAt(value: unknown, path: string): string[] {
  const steps = path === "$" ? [] : (path.match(/[^.[\]]+|\[[^\]]*\]/g) ?? []);
  return steps.reduce((found, step) => found.flatMap((one) => partsOf(one, step)), [value]).flatMap(textOf);
}

function partsOf(value: unknown, step: string): unknown[] {
  if (step === "[*]") return Array.isArray(value) ? value : [];
  if (step.startsWith("[")) return Array.isArray(value) ? [value.at(Number(step.slice(1, -1)))] : [];
  return typeof value === "object" && value !== null && Object.hasOwn(value, step)
    ? [Reflect.get(value, step)]
    : [];
}

function textOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  return [typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)];
}

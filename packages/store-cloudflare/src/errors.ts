import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";

/** What the runtime reports while a database moves, restarts or is overloaded. Those of SQLite are known to `SqliteDocuments`. */
const transient =
  /network connection lost|reset because|caused object to be reset|was reset|overloaded|transient issue|internal error|client disconnected|cannot resolve/i;

/** See `Driver.classifyError`, for D1. */
export const classifyD1 = classify("d1", (table) => [
  [
    /exceeded maximum DB size|maximum account storage/i,
    table.permanent("the database has reached its maximum size"),
  ],
  [transient, table.retryable("the database could not be reached, was reset, or is overloaded; see cause")],
]);

/** See `Driver.classifyError`, for Durable Objects. */
export const classifyDurableObject = classify("durable-object", (table) => [
  [
    /SQL is not enabled|SQLite storage is not enabled|not using SQLite/i,
    table.unsupported("the object's class has no SQLite; list it in new_sqlite_classes of a migration"),
  ],
  [transient, table.retryable("the object could not be reached, was reset, or is overloaded; see cause")],
]);

type Rules = readonly (readonly [message: RegExp, ErrorClassification])[];

function classify(backend: string, rulesOf: (table: ReturnType<typeof errorTable>) => Rules) {
  const table = errorTable(backend);
  const rules = rulesOf(table);
  const late = table.retryable("no reply in time (timeout)");
  return (error: unknown): ErrorClassification | undefined => {
    if (!(error instanceof Error)) return undefined;
    if (error.name === "TimeoutError") return late;
    return table.network(error) ?? rules.find(([message]) => message.test(error.message))?.[1];
  };
}

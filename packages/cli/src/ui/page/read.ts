/** The parameters of a request; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** A path of the server with its parameters. */
export function pathOf(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return `${path}?${new URLSearchParams(given)}`;
}

/** Reads from the server. @throws Error with the server's words. */
export async function read<T>(path: string, query: Query, signal: AbortSignal): Promise<T> {
  const response = await fetch(pathOf(path, query), { signal }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw new Error("The inspector does not answer. Is the command still running?", { cause });
  });
  if (!response.ok) throw new Error(await response.text());
  return await response.json();
}

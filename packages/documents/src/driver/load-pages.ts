import type { DocumentDatabase, LoadedHead, Page } from "../database.ts";

/**
 * Reads pages that a head lists into `loaded`. One that is missing, although the thread still has the same head, is damaged: it
 * becomes `null`.
 *
 * @returns undefined once all are loaded; the thread's present head (`null`: none) if it has moved on and pages were missing.
 */
export async function loadPages(
  database: DocumentDatabase,
  threadId: string,
  { token }: LoadedHead,
  ids: readonly string[],
  loaded: Map<string, Page | null>,
): Promise<LoadedHead | null | undefined> {
  const missing = async (primary: boolean) => {
    const wanted = ids.filter((id) => !loaded.has(id));
    const pages = wanted.length > 0 ? await database.read(threadId, wanted, { primary }) : [];
    for (const page of pages) loaded.set(page.id, page);
    return wanted.filter((id) => !loaded.has(id));
  };
  if ((await missing(false)).length === 0) return undefined;
  const present = await database.load(threadId, { primary: true });
  if (present?.token !== token) return present;
  for (const id of await missing(true)) loaded.set(id, null);
  return undefined;
}

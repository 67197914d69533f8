import { hasMethods, invalid } from "@scrollback/store-core/driver";

/**
 * Refuses stores that trim or expire, because a checkpoint may refer to older data, which would be removed first.
 *
 * @throws StoreError `INVALID_ARGUMENT`.
 */
export function checkStores(owner: string, stores: unknown): void {
  const problem = hasMethods("withTraits")(stores);
  if (problem) invalid(`${owner}: stores must be a store factory`);
  const { settings } = stores as { settings?: { maxMessages?: number; ttlMs?: number } };
  if (settings?.maxMessages !== undefined)
    invalid(`${owner}: stores with maxMessages lose what is stored; give a factory without it`);
  if (settings?.ttlMs !== undefined)
    invalid(
      `${owner}: stores with ttlMs lose what newer data refers to; give a factory without it, and delete`,
    );
}

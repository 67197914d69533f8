import { hasMethods, invalid } from "@scrollback/store-core/driver";

/**
 * Refuses stores that trim, because a checkpoint refers to older data, which would be removed first.
 *
 * @throws StoreError `INVALID_ARGUMENT`.
 */
export function checkStores(owner: string, stores: unknown): void {
  const problem = hasMethods("withTraits")(stores);
  if (problem) invalid(`${owner}: stores must be a store factory`);
  const { settings } = stores as { settings?: { maxMessages?: number } };
  if (settings?.maxMessages !== undefined)
    invalid(`${owner}: stores with maxMessages lose what is stored; give a factory without it`);
}

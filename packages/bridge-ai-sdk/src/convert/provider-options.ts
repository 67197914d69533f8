import { isObject } from "@scrollback/store-core/driver";
import { type MessageLosses, plainJson } from "@scrollback/store-core/internal";
import type { ProviderMetadata } from "ai";

/** The provider options of a message or part: JSON by provider. Reports everything else. */
export function providerOptionsOf(
  value: unknown,
  path: string,
  losses: MessageLosses,
): ProviderMetadata | undefined {
  if (value == null) return undefined;
  if (isObject(value) || Object.values(value as object).some((options) => isObject(options) !== undefined)) {
    losses.dropped(path);
    return undefined;
  }
  const { value: options, isChanged } = plainJson(value);
  if (isChanged) losses.changed(path);
  return options as ProviderMetadata;
}

import { isToolPart, type UIPart } from "./tool-parts.ts";

/**
 * The parts of an answer that will not continue, without references to its last step. A provider that stores its items (the
 * Responses API of OpenAI) does not have those of a response that was cut off, and refuses a request that refers to them.
 */
export function withoutUnfinishedItems(parts: readonly UIPart[]): UIPart[] {
  const start = parts.findLastIndex(({ type }) => type === "step-start") + 1;
  const step = parts.slice(start);
  const hasText = step.some((part) => part.type === "text" && part.text !== "");
  // The SDK sends a call that the provider ran as a reference too, also if the call itself has no item id.
  const isStored = step.some(hasItemId) || !hasText;
  return [
    ...parts.slice(0, start),
    ...step.filter((part) => !(isStored && isProviderResult(part))).map(withoutItemId),
  ];
}

function isProviderResult(part: UIPart): boolean {
  return isToolPart(part) && part.providerExecuted === true && part.state === "output-available";
}

/** The fields of a part that hold metadata by provider. */
const metadataFields = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"];

function hasItemId(part: UIPart): boolean {
  return metadataOf(part).some(([, metadata]) => Object.values(metadata).some((one) => "itemId" in one));
}

function withoutItemId(part: UIPart): UIPart {
  const made: Record<string, unknown> = { ...part };
  for (const [field, metadata] of metadataOf(part)) {
    const kept = Object.entries(metadata).flatMap(([provider, { itemId, ...rest }]) =>
      Object.keys(rest).length > 0 || itemId === undefined ? [[provider, rest]] : [],
    );
    if (kept.length > 0) made[field] = Object.fromEntries(kept);
    else delete made[field];
  }
  return made as unknown as UIPart;
}

type Metadata = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function metadataOf(part: UIPart): (readonly [field: string, metadata: Metadata])[] {
  const fields = part as unknown as Readonly<Record<string, unknown>>;
  return metadataFields.flatMap((field) => {
    const value = fields[field];
    if (typeof value !== "object" || value === null) return [];
    return Object.values(value).every((one) => typeof one === "object" && one !== null)
      ? [[field, value as Metadata] as const]
      : [];
  });
}

import type { UIPart } from "./tool-parts.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fields whose value may be null. */
const valueFields: ReadonlySet<string> = new Set(["input", "data", "inputSchemaInput", "descriptor"]);
/** The fields that contain optional fields: an approval, metadata by provider. */
const objectFields: ReadonlySet<string> = new Set([
  ...["approval", "providerMetadata", "callProviderMetadata", "resultProviderMetadata"],
]);

/** A part without its null fields. Other languages and databases write null for a field that is absent. */
export function withoutNulls(part: UIPart): UIPart {
  const made = presentFields(part as unknown as Fields);
  const { type, state } = made;
  if (state === "output-available") made.output = (part as unknown as Fields).output;
  if (state === "output-error") made.errorText ??= "";
  if (type === "steering-message" && Array.isArray(made.parts))
    made.parts = made.parts.map((one) => (isFields(one) ? presentFields(one) : one));
  return made as unknown as UIPart;
}

function presentFields(fields: Fields): Record<string, unknown> {
  const present = Object.entries(fields).filter(([name, value]) => value !== null || valueFields.has(name));
  return Object.fromEntries(
    present.map(([name, value]) => [
      name,
      objectFields.has(name) && isFields(value) ? presentFields(value) : value,
    ]),
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

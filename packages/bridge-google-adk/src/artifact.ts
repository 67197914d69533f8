import type { SaveArtifactRequest } from "@google/adk";
import { plain } from "./event.ts";

/** A part of a message, of Google's SDK. */
export type Part = SaveArtifactRequest["artifact"];

/** One version of an artifact, as a message of a chat. */
export interface StoredArtifact {
  readonly id: string;
  readonly role: "user";
  readonly artifact: Omit<Part, "text"> & { readonly text?: string | Uint8Array };
  readonly customMetadata?: Record<string, unknown>;
}

/** Chats store a large data URL apart, but no base64 in a field of Google's SDK. */
const DATA_URL = "data:;base64,";
/** A byte order mark is part of a text. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An artifact in a form whose content is stored apart if it is large: a data URL in the place of base64, and bytes in that of text. */
export function toStoredArtifact(artifact: Part): StoredArtifact["artifact"] {
  const { text, inlineData, ...fields } = plain(artifact) as Part;
  return {
    ...fields,
    // UTF-8 has no lone surrogates.
    ...(text !== undefined && { text: text.isWellFormed() ? new TextEncoder().encode(text) : text }),
    ...(inlineData && { inlineData: withData(inlineData, (data) => DATA_URL + data) }),
  };
}

export function toPart({ text, inlineData, ...fields }: StoredArtifact["artifact"]): Part {
  return {
    ...fields,
    ...(text !== undefined && { text: typeof text === "string" ? text : decoder.decode(text) }),
    ...(inlineData && { inlineData: withData(inlineData, (data) => data.slice(DATA_URL.length)) }),
  };
}

type InlineData = NonNullable<Part["inlineData"]>;

function withData(inlineData: InlineData, map: (data: string) => string): InlineData {
  const { data } = inlineData;
  return data === undefined ? inlineData : { ...inlineData, data: map(data) };
}

import type { ChatMessage, Part } from "@scrollback/store-core";
import { fileContent, fileSource, type MessageLosses } from "@scrollback/store-core/internal";
import type { UIPart } from "./tool-parts.ts";

/** Converts a part of a UI message that is not a tool's to a part of a `ChatMessage`; undefined if it has no counterpart. */
export function chatPart(part: UIPart, path: string, losses: MessageLosses): Part | undefined {
  switch (part.type) {
    case "text":
    case "reasoning": {
      const { type, text, state, ...rest } = part;
      if (typeof text !== "string") return undefined;
      // A part with the state "done" is read as one without a state.
      if (state !== "done") losses.unread(path, { state });
      return { type, text, ...optionsOf(rest, path, losses) };
    }
    case "custom": {
      const { type, kind, ...rest } = part;
      return typeof kind === "string" ? { type, kind, ...optionsOf(rest, path, losses) } : undefined;
    }
    case "file":
    case "reasoning-file": {
      const { type, mediaType, url, filename, providerReference, ...rest } = part as typeof part & {
        readonly filename?: string;
        readonly providerReference?: Record<string, string>;
      };
      if (typeof mediaType !== "string") return undefined;
      const isUrl = typeof url === "string" && URL.canParse(url);
      const content = isUrl ? fileSource(url, mediaType) : undefined;
      const source = providerReference ? fileSource(providerReference, mediaType) : content;
      if (!source) return undefined;
      if (providerReference && url !== "") losses.unread(path, { url });
      const isNamed = type === "file" && typeof filename === "string";
      if (!isNamed) losses.unread(path, { filename });
      const options = optionsOf(rest, path, losses);
      return { type, mediaType, ...(isNamed && { filename }), data: fileContent(source), ...options } as Part;
    }
    default:
      return undefined;
  }
}

/** Returns the provider options, and reports other fields. */
function optionsOf(rest: { providerMetadata?: unknown }, path: string, losses: MessageLosses) {
  const { providerMetadata, ...unread } = rest;
  losses.unread(path, unread);
  return providerMetadata == null
    ? {}
    : { providerOptions: providerMetadata as NonNullable<ChatMessage["providerOptions"]> };
}

import type { Part } from "@scrollback/store-core";
import { fileSource, type MessageLosses, urlOfFile } from "@scrollback/store-core/internal";
import { providerOptionsOf } from "./provider-options.ts";
import type { UIPart } from "./tool-parts.ts";

/** Converts a part to a part of a UI message, except a tool's result; undefined if it has no counterpart. */
export function uiPart(part: Part, path: string, losses: MessageLosses): UIPart | undefined {
  switch (part.type) {
    case "text":
    case "reasoning": {
      const { type, text, ...rest } = part;
      return { type, text, ...metadataOf(rest, path, losses) };
    }
    case "custom": {
      const { type, kind, ...rest } = part;
      if (typeof kind !== "string") return undefined;
      return { type, kind: kind as `${string}.${string}`, ...metadataOf(rest, path, losses) };
    }
    case "file":
    case "image":
    case "reasoning-file":
      return filePart(part, path, losses);
    case "tool-call": {
      const { type: _, toolCallId, toolName, input, providerExecuted, providerOptions, ...unread } = part;
      losses.unread(path, unread);
      // A complete call has an input.
      if (input === undefined && "input" in part) losses.changed(`${path}.input`);
      const metadata = providerOptionsOf(providerOptions, `${path}.providerOptions`, losses);
      return {
        type: `tool-${toolName}`,
        toolCallId,
        state: "input-available",
        input: input === undefined ? null : input,
        ...(providerExecuted === true && { providerExecuted }),
        ...(metadata && { callProviderMetadata: metadata }),
      };
    }
    default:
      return undefined;
  }
}

type FilePart = Extract<Part, { type: "file" | "image" | "reasoning-file" }>;

function filePart(part: FilePart, path: string, losses: MessageLosses): UIPart | undefined {
  const {
    type,
    mediaType = "image",
    filename,
    data,
    image,
    ...rest
  } = part as FilePart & {
    readonly filename?: unknown;
    readonly data?: unknown;
    readonly image?: unknown;
  };
  const source = typeof mediaType === "string" && fileSource(type === "image" ? image : data, mediaType);
  if (!source) return undefined;
  const url = urlOfFile(source, mediaType);
  if (type === "reasoning-file") {
    if (url === undefined) return undefined;
    losses.unread(path, { filename });
    return { type, mediaType, url, ...metadataOf(rest, path, losses) };
  }
  const isNamed = typeof filename === "string";
  if (!isNamed) losses.unread(path, { filename });
  return {
    type: "file",
    mediaType,
    ...(isNamed && { filename }),
    // The URL of an uploaded file is not used: the reference takes precedence.
    url: url ?? "",
    ...(source.type === "reference" && { providerReference: source.reference }),
    ...metadataOf(rest, path, losses),
  };
}

/** Returns the provider metadata, and reports other fields. */
function metadataOf(rest: { providerOptions?: unknown }, path: string, losses: MessageLosses) {
  const { providerOptions, ...unread } = rest;
  losses.unread(path, unread);
  const providerMetadata = providerOptionsOf(providerOptions, `${path}.providerOptions`, losses);
  return providerMetadata && { providerMetadata };
}

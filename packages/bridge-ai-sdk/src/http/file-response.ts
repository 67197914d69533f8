import type { OwnedChats } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { fileHeaders } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";

/** The response with a file, or with the range of it that the request asks for. */
export async function fileResponse<UI extends UIMessage>(
  mine: OwnedChats<UI>,
  fileId: string,
  mediaType: string,
  request: Headers,
): Promise<Response> {
  // The id is a hash of the content, so that a browser need not ask again.
  const etag = `"${fileId}"`;
  const headers = {
    ...fileHeaders(mediaType),
    "cache-control": "private, max-age=31536000, immutable",
    "accept-ranges": "bytes",
    etag,
  };
  const isKnown = request.get("if-none-match")?.includes(etag) ?? false;
  const range = isKnown ? { start: 0, end: 0 } : rangeOf(request.get("range"));
  const found = await mine.readFile(
    fileId,
    range?.start === undefined ? {} : { ...range, start: range.start },
  );
  if (!found) throw new StoreError("NOT_FOUND", "request: the file does not exist");
  const { content, size } = found;
  if (isKnown) return new Response(null, { status: 304, headers });
  const body = (bytes: Uint8Array) => bytes as Uint8Array<ArrayBuffer>;
  if (!range) return new Response(body(content), { headers: { ...headers, "content-length": String(size) } });
  const { start = Math.max(0, size - (range.end ?? 0)) } = range;
  const part = range.start === undefined ? content.subarray(start) : content;
  if (start >= size || part.length === 0)
    return new Response(null, {
      status: 416,
      headers: { ...fileHeaders(mediaType), "content-range": `bytes */${size}` },
    });
  return new Response(body(part), {
    status: 206,
    headers: {
      ...headers,
      "content-range": `bytes ${start}-${start + part.length - 1}/${size}`,
      "content-length": String(part.length),
    },
  });
}

/** The one range of a request; without `start`, the last `end` bytes. Undefined for none, and for several, which may be ignored. */
function rangeOf(header: string | null): { readonly start?: number; readonly end?: number } | undefined {
  const [, start = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (start === "" && last === "") return undefined;
  if (start === "") return { end: Number(last) };
  if (last !== "" && Number(last) < Number(start)) return undefined;
  return { start: Number(start), ...(last !== "" && { end: Number(last) + 1 }) };
}

import { StoreError } from "@scrollback/store-core";

/** The JSON of a request; undefined if it has no body. @throws StoreError `INVALID_ARGUMENT`, `TOO_LARGE`. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const tooLarge = new StoreError("TOO_LARGE", `request: the body may have at most ${maxBytes} bytes`);
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (error) {
    throw new StoreError("INVALID_ARGUMENT", "request: the body must be JSON", { cause: error });
  }
}

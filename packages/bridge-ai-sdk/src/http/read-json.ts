import { StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";

/** A browser sends this type to another site only if that site allows it. */
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * The JSON of a request; undefined if it has no body. Called before anything is changed.
 *
 * @throws StoreError `INVALID_ARGUMENT`, also for a request of another site that its browser did not ask for, and `TOO_LARGE`.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  if (isCrossSite(request) && !JSON_TYPE.test(request.headers.get("content-type") ?? ""))
    invalid("request: content-type must be application/json for a request of another site");
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.body?.values({ preventCancel: true }) ?? []) {
      bytes += chunk.length;
      if (bytes > maxBytes) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    // The client has closed the connection.
    throw new StoreError("INVALID_ARGUMENT", "request: the body ends too early; send it again", { cause });
  }
  if (bytes > maxBytes) {
    // The rest is ignored. A cancellation would close the connection before the client has the response.
    void request.body?.pipeTo(new WritableStream()).catch(() => undefined);
    throw tooLarge(maxBytes);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(await new Blob(chunks).text());
  } catch (error) {
    throw new StoreError("INVALID_ARGUMENT", "request: the body must be JSON", { cause: error });
  }
}

function tooLarge(maxBytes: number): StoreError {
  return new StoreError("TOO_LARGE", `request: the body may have at most ${maxBytes} bytes`);
}

/** Whether a page of another origin sends the request. Clients that are no browsers send neither header. */
function isCrossSite({ headers, url }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site !== "same-origin" && site !== "none";
  const origin = headers.get("origin");
  return origin !== null && hostOf(origin) !== (headers.get("host") ?? hostOf(url));
}

/** Undefined for the origin "null" of a sandboxed page. */
function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}

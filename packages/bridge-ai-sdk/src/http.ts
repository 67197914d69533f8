import { StoreError, type StoreErrorCode } from "@scrollback/store-core";

const statuses: Partial<Record<StoreErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_STATE: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
  TOO_LARGE: 413,
  CLOSED: 503,
  UNAVAILABLE: 503,
};

/** `{ error, message }`, with the status of the error's code. What is not a `StoreError` is told as `INTERNAL`. */
export function errorResponse(error: unknown): Response {
  if (!StoreError.is(error))
    return Response.json({ error: "INTERNAL", message: "Internal error" }, { status: 500 });
  const { code, message } = error;
  const status = statuses[code] ?? 500;
  return Response.json(
    { error: code, message },
    { status, ...(status === 503 && { headers: { "retry-after": "1" } }) },
  );
}

/** The JSON of a request; undefined where it has no body. @throws StoreError `INVALID_ARGUMENT`, `TOO_LARGE`. */
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

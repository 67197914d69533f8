import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { createUIMessageStreamResponse, UI_MESSAGE_STREAM_HEADERS, type UIMessageChunk } from "ai";

/** The interval of keep-alive comments. Proxies close connections that are idle for longer. */
const KEEP_ALIVE_MS = 15_000;
/** The part of an answer that a client may have left unread. */
const MAX_UNREAD_BYTES = 16 * 1_024 * 1_024;

type Body = NonNullable<Response["body"]>;

/** The response with an answer that this request generates. */
export function answerResponse(
  stream: ReadableStream<UIMessageChunk>,
  headers: Record<string, string>,
): Response {
  const response = createUIMessageStreamResponse({ stream, headers, keepAliveMs: KEEP_ALIVE_MS });
  return new Response(response.body && boundedStream(response.body), response);
}

/** The response with an answer that has ended. */
export function replayResponse(stream: ReadableStream<UIMessageChunk>): Response {
  return createUIMessageStreamResponse({ stream });
}

/** The response with an answer that is already text of server-sent events. */
export function streamResponse(stream: ReadableStream<string>, runId: string): Response {
  return new Response(stream.pipeThrough(new TextEncoderStream()), {
    headers: { ...UI_MESSAGE_STREAM_HEADERS, "x-scrollback-run": runId },
  });
}

/**
 * A stream that is read without waiting for its reader, and fails if the reader leaves more than `MAX_UNREAD_BYTES` unread and the
 * next chunk arrives: an answer does not wait for its client, and must not collect in memory for it.
 */
function boundedStream(stream: Body): Body {
  const reader = stream.getReader();
  const fill = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if ((controller.desiredSize ?? 0) <= 0) throw new Error("the client reads the answer too slowly");
      controller.enqueue(next.value);
    }
    controller.close();
  };
  return new ReadableStream(
    {
      start(controller) {
        void fill(controller).catch((error) => {
          controller.error(error);
          void reader.cancel(error).catch(() => undefined);
        });
      },
      cancel: (reason) => reader.cancel(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );
}

const statuses: Partial<Record<StoreErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_STATE: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
  TOO_LARGE: 413,
  CLOSED: 503,
};

/** Whether an error is the server's and not the client's. */
export function isServerError(error: unknown): boolean {
  return statusOf(error) >= 500;
}

/**
 * `{ error, message }` with the status for the error's code. An error that is not a `StoreError` becomes `INTERNAL`. The message of
 * a server error may name threads, so the client does not receive it. Only an error that passes by itself is 503: a client tries such a
 * request again.
 */
export function errorResponse(error: unknown): Response {
  const status = statusOf(error);
  const code = StoreError.is(error) ? error.code : "INTERNAL";
  const isClients = StoreError.is(error) && status < 500;
  const message = isClients ? error.message : status === 503 ? "Not available; try again" : "Internal error";
  return Response.json(
    { error: code, message },
    { status, ...(status === 503 && { headers: { "retry-after": "1" } }) },
  );
}

function statusOf(error: unknown): number {
  if (!StoreError.is(error)) return 500;
  return error.retryable ? 503 : (statuses[error.code] ?? 500);
}

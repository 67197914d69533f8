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

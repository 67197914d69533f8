import { createUIMessageStreamResponse, UI_MESSAGE_STREAM_HEADERS, type UIMessageChunk } from "ai";

/** The interval of keep-alive comments. Proxies close connections that are idle for longer. */
const KEEP_ALIVE_MS = 15_000;

/** The response with an answer that this request generates. */
export function answerResponse(
  stream: ReadableStream<UIMessageChunk>,
  headers: Record<string, string>,
): Response {
  return createUIMessageStreamResponse({ stream, headers, keepAliveMs: KEEP_ALIVE_MS });
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

import type { ChatEntry, OwnedChats } from "@scrollback/chats";
import type { UIMessage } from "ai";
import { withFileUrls } from "../convert/file-references.ts";
import { replayedAnswer } from "../streams/replay.ts";
import type { ChatStreams } from "../streams/streams.ts";
import { watchedStream } from "../streams/watched-stream.ts";
import { replayResponse, streamResponse } from "./responses.ts";

/** The time for which an ended answer is replayed, for clients that loaded the chat before its end. */
const REPLAY_MS = 10_000;
/** The time within which a run is published after it begins, on a busy server. */
const PUBLISH_MS = 2_000;
/** The number of requests for an answer that is not published. It has ended, and its end is being saved. */
const REQUESTS = 3;
/** The time for which a request for a stream is repeated, because the server that makes the answer may be too busy to reply. */
const REPLY_MS = 10_000;
const LOOK_MS = 50;
/** The longest pause between two requests for a stream. */
const RESUME_PAUSE_MS = 400;
/** The time within which a stopped answer must be saved: a dead process is found after the default lease of 15 s. */
const STOP_MS = 20_000;
const LONGEST_PAUSE_MS = 1_000;

/** The running answer of a chat from its beginning, or an answer that has just ended; else 204. */
export async function resumedAnswer<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  chatId: string,
  streams: ChatStreams,
): Promise<Response> {
  const end = performance.now() + REPLY_MS;
  // Pauses grow: many listeners that ask at once would keep the server busy, for which they wait.
  for (let requests = 1, pause = LOOK_MS; ; requests++, pause = Math.min(2 * pause, RESUME_PAUSE_MS)) {
    const page = await chats.read(chatId, { limit: 1, files: "references" });
    const run = page?.chat.run;
    if (run?.state !== "running") return run ? noContent() : endedAnswer(chats, chatId, page?.entries.at(-1));
    // Null: the process that makes the answer does not reply.
    const stream = await streams.resume(run.id).catch(() => null);
    if (stream) {
      const watched = watchedStream(stream, () => isRunning(chats, chatId, run));
      return streamResponse(watched, run.id);
    }
    const isYoung = Date.now() - run.startedAt < PUBLISH_MS;
    const isUnpublished = stream !== null && !isYoung && requests >= REQUESTS;
    // The clock of the process that began the run may be wrong, so a young run is not asked for without end either.
    const isLast = isUnpublished || performance.now() >= end;
    if (isLast && (await isRunning(chats, chatId, run))) return noContent();
    await sleep(pause);
  }
}

/**
 * Sends a stop request to a chat's run, and waits until the answer so far is saved. Returns false if no run exists, if its
 * process has died, or if the run has not ended within 20 s.
 */
export async function stopAnswer<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  chatId: string,
  runId: string,
  streams: ChatStreams,
): Promise<boolean> {
  const isStopped = await chats.stop(chatId, runId);
  if (!isStopped) return false;
  // This only speeds up the stop: the head already contains the request. So a failure or delay of the streams has no effect.
  void streams.stop(runId).catch(() => undefined);
  const end = performance.now() + STOP_MS;
  for (let pause = LOOK_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const run = (await chats.get(chatId))?.run;
    if (run?.id !== runId) return true;
    if (run.state === "lost" || performance.now() >= end) return false;
    await sleep(pause);
  }
}

async function isRunning<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  chatId: string,
  { id }: { readonly id: string },
): Promise<boolean> {
  const run = (await chats.get(chatId))?.run;
  return run?.id === id && run.state === "running";
}

async function endedAnswer<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  chatId: string,
  entry: ChatEntry<UI> | undefined,
): Promise<Response> {
  // The clock of the process that made the answer may be ahead.
  if (entry?.message.role !== "assistant" || Math.abs(Date.now() - entry.updatedAt) > REPLAY_MS)
    return noContent();
  const [shown = entry] = await withFileUrls(chats, chatId, [entry]);
  return replayResponse(replayedAnswer(shown.message, shown));
}

function noContent(): Response {
  return new Response(null, { status: 204 });
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

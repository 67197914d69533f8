import { createEvent, type Event, getFunctionCalls, getFunctionResponses } from "@google/adk";
import { type HistoryTraits, pairedHistory } from "@scrollback/store-core/internal";

const NOT_STORED = "The result of this call was not stored. The tool may have run.";

/**
 * Adds a result after each event with tool calls that have no result: its process has died, or the event with the result was refused.
 * The results are not stored. Calls of long-running tools stay open, because their results come later.
 */
function withAnswers(events: readonly Event[]): Event[] {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return events.flatMap((event) => [event, ...answerOf(event, answered)]);
}

/**
 * The events for a model: {@link withAnswers}, without results whose calls are not among the events, for example because only the newest
 * events were requested.
 */
export function pairedEvents(events: readonly Event[]): ReturnType<typeof pairedHistory<Event>> {
  return pairedHistory(withAnswers(events), eventTraits);
}

const eventTraits: HistoryTraits<Event> = {
  // The calls of long-running tools stay open over the user's messages.
  role: () => "assistant",
  toolCalls: (event) => getFunctionCalls(event).flatMap(({ id }) => id ?? []),
  toolResults: (event) => getFunctionResponses(event).flatMap(({ id }) => id ?? []),
  without(event, _calls, results) {
    const parts = event.content?.parts?.filter(
      ({ functionResponse }) => !results.has(functionResponse?.id ?? ""),
    );
    return parts && parts.length > 0
      ? createEvent({ ...event, content: { ...event.content, parts } })
      : undefined;
  },
  isReasoning: () => false,
};

function answerOf(event: Event, answered: ReadonlySet<string | undefined>): Event[] {
  const open = getFunctionCalls(event).filter(
    ({ id }) => id !== undefined && !answered.has(id) && !event.longRunningToolIds?.includes(id),
  );
  if (open.length === 0) return [];
  const parts = open.map(({ id, name }) => ({
    functionResponse: {
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      response: { error: NOT_STORED },
    },
  }));
  const { author, branch, invocationId, timestamp } = event;
  return [
    createEvent({
      id: `${event.id}:not-stored`,
      ...{ invocationId, timestamp, content: { role: "user", parts } },
      ...(author !== undefined && { author }),
      ...(branch !== undefined && { branch }),
    }),
  ];
}

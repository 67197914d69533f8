import type { Revision } from "@scrollback/store-core";
import type { Session, SessionEvent, SessionKey } from "../session.ts";
import { mergeScopes, setValue, temporaryOf } from "../state/scopes.ts";
import type { SharedPair } from "../state/shared-state.ts";
import { formatLocation, type Head, type SessionView } from "./session-thread.ts";

/** Creates a session object from a read. */
export function sessionOf(
  { appName, userId, sessionId }: SessionKey,
  { head, revision }: Pick<SessionView, "head" | "revision">,
  events: readonly SessionEvent[],
  { app, user }: SharedPair,
): Session {
  return {
    id: sessionId,
    appName,
    userId,
    ...(head.title !== undefined && { title: head.title }),
    state: mergeScopes(app.content.values, user.content.values, head.state),
    events: [...events],
    lastUpdateTime: head.lastUpdateTime,
    revision: formatLocation(head, revision),
  };
}

/** Updates a session object after its own event. */
export function show(session: Session, event: SessionEvent, head: Head, revision: Revision): void {
  const index = session.events.findIndex(({ id }) => id === event.id);
  if (index < 0) session.events.push(event);
  else session.events[index] = event;
  for (const [key, value] of Object.entries(event.actions?.stateDelta ?? {}))
    setValue(session.state, key, value);
  moveTo(session, head, revision);
}

/** Updates a session object after writes of other writers. Keeps its temporary keys. */
export function refresh(
  session: Session,
  head: Head,
  revision: Revision,
  recent: readonly SessionEvent[],
  { app, user }: SharedPair,
): void {
  const held = new Set(session.events.map(({ id }) => id));
  session.events.push(...recent.filter(({ id }) => !held.has(id)));
  const state = mergeScopes(app.content.values, user.content.values, head.state);
  for (const [key, value] of Object.entries(temporaryOf(session.state))) setValue(state, key, value);
  session.state = state;
  moveTo(session, head, revision);
}

function moveTo(session: Session, head: Head, revision: Revision): void {
  if (head.title === undefined) delete session.title;
  else session.title = head.title;
  session.lastUpdateTime = head.lastUpdateTime;
  session.revision = formatLocation(head, revision);
}

import type { CommandStartedEvent, MongoClient } from "mongodb";

/** A command as the driver sends it: its name, and its fields. */
export type SentCommand = CommandStartedEvent["command"] & { readonly name: string };

/** A URL by which a client tells its commands. */
export function watchable(url: string): string {
  const watched = new URL(url);
  watched.searchParams.set("monitorCommands", "true");
  return watched.href;
}

/** The commands that a client sends from now on. It must tell them, see {@link watchable}. */
export function watchCommands(client: MongoClient, sent: SentCommand[] = []): SentCommand[] {
  client.on("commandStarted", ({ commandName, command }) => {
    // What a client says when it is closed is no request of ours.
    if (commandName !== "endSessions") sent.push({ name: commandName, ...command });
  });
  return sent;
}

/** The names of the commands that were sent, which are then forgotten. */
export function takeNames(sent: SentCommand[]): string[] {
  return sent.splice(0).map(({ name }) => name);
}

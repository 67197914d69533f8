import type { CommandStartedEvent, MongoClient } from "mongodb";

/** A command that the driver sends: its name and its fields. */
export type SentCommand = CommandStartedEvent["command"] & { readonly name: string };

/** A URL with which a client reports its commands, and waits for a slow server instead of sending a command again. */
export function watchable(url: string): string {
  const watched = new URL(url);
  watched.searchParams.set("monitorCommands", "true");
  watched.searchParams.set("socketTimeoutMS", "60000");
  return watched.href;
}

/** Records the commands that a client sends from now on. The client must report them, see {@link watchable}. */
export function watchCommands(client: MongoClient, sent: SentCommand[] = []): SentCommand[] {
  client.on("commandStarted", ({ commandName, command }) => {
    // A client sends endSessions when it is closed, not for a request of the adapter.
    if (commandName !== "endSessions") sent.push({ name: commandName, ...command });
  });
  return sent;
}

/** Returns the names of the recorded commands, and clears the record. */
export function takeNames(sent: SentCommand[]): string[] {
  return sent.splice(0).map(({ name }) => name);
}

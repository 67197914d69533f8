import { tracingChannel } from "node:diagnostics_channel";

const channels = ["scrollback:commit", "scrollback:read"].map((name) => tracingChannel(name).start);

/** How many commits and reads of stores the work takes, what it leaves in the background aside. */
export async function countRequests(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const onStart = () => {
    count += 1;
  };
  for (const channel of channels) channel.subscribe(onStart);
  try {
    await work();
    return count;
  } finally {
    for (const channel of channels) channel.unsubscribe(onStart);
  }
}

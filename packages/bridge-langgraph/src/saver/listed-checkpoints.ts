import { StoreError } from "@scrollback/store-core";
import type { CheckpointLog } from "../log/checkpoint-log.ts";
import type { CheckpointMessage } from "../log/log-message.ts";
import type { CheckpointContent } from "../log/log-reading.ts";
import type { Namespace } from "./configurable.ts";

/** A checkpoint that a list has found. */
export interface ListedCheckpoint {
  readonly namespace: Namespace;
  readonly checkpoint: CheckpointMessage;
  /** Undefined if the checkpoint was dropped since. */
  readonly content: () => Promise<CheckpointContent | undefined>;
}

/** Yields the checkpoints of a log, highest id first, or the one with this id. */
export async function* listedCheckpoints(
  namespace: Namespace,
  log: CheckpointLog,
  id: string | undefined,
): AsyncGenerator<ListedCheckpoint> {
  if (id === undefined) {
    for await (const [found, reading] of log.checkpoints()) {
      if (found.checkpoint.isAncestor) continue;
      yield {
        ...{ namespace, checkpoint: found.checkpoint },
        content: () =>
          reading.content(found).catch(async (error: unknown) => {
            // The log was replaced meanwhile: the new one may still have the checkpoint.
            if (!StoreError.is(error, "CONFLICT")) throw error;
            const content = await log.content(found.checkpoint.id);
            return content?.checkpoint.isAncestor ? undefined : content;
          }),
      };
    }
    return;
  }
  const content = await log.content(id);
  if (content && !content.checkpoint.isAncestor)
    yield { namespace, checkpoint: content.checkpoint, content: async () => content };
}

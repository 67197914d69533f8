import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type InferUITools, tool, type UIDataTypes, type UIMessage } from "ai";
import { z } from "zod";

const FOLDER = ".web-chat/files";
const SAMPLES = ["draft.txt", "notes.txt", "packing-list.txt"];

/** Creates the folder that `deleteFile` deletes from, with three files, if it does not exist. */
export async function prepareFiles(): Promise<void> {
  const made = await mkdir(FOLDER, { recursive: true });
  if (made === undefined) return;
  for (const name of SAMPLES)
    await writeFile(join(FOLDER, name), "A sample. The assistant may be asked to delete it.\n");
}

export const tools = {
  deleteFile: tool({
    description: `Deletes a file. The user approves each call. There may be: ${SAMPLES.join(", ")}.`,
    inputSchema: z.object({ name: z.string().describe("the name of the file, without a folder") }),
    outputSchema: z.object({ deleted: z.boolean() }),
    needsApproval: true,
    async execute({ name }) {
      try {
        await rm(join(FOLDER, basename(name)));
        return { deleted: true };
      } catch {
        return { deleted: false };
      }
    },
  }),
  /** Without `execute`: the browser shows the question, and the user's answer is the output. */
  askUser: tool({
    description: "Asks the user one question and returns the answer.",
    inputSchema: z.object({
      question: z.string(),
      options: z.array(z.string()).max(5).describe("short answers to choose from"),
    }),
    outputSchema: z.object({ answer: z.string() }),
  }),
};

export type ChatMessage = UIMessage<unknown, UIDataTypes, InferUITools<typeof tools>>;

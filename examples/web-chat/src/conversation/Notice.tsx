import { WarnIcon } from "../controls/icons.tsx";
import type { Trouble } from "./use-conversation.ts";

/** Shows why the conversation cannot continue, and offers to reload it. */
export function Notice({ trouble, onReload }: { readonly trouble: Trouble; readonly onReload: () => void }) {
  const [text, action] = {
    stale: ["This chat was updated elsewhere. Reload it to go on.", "Reload"],
    disconnected: ["The connection to the server was lost.", "Reconnect"],
    refused: [trouble.is === "refused" ? trouble.text : "", "Reload"],
  }[trouble.is] as [string, string];
  return (
    <div className="notice" role="alert">
      <WarnIcon />
      <span>{text}</span>
      <button type="button" className="button small" onClick={onReload}>
        {action}
      </button>
    </div>
  );
}

import { useRef, useState } from "react";

interface Props {
  readonly title: string;
  /** Called with the new title; without one if it is the same or Escape was pressed. */
  readonly onDone: (title?: string) => void;
}

/** Edits a title in place. Enter and loss of focus save; Escape does not. */
export function TitleEditor({ title, onDone }: Props) {
  const [text, setText] = useState(title);
  // Enter removes the field, which fires another blur event.
  const isDone = useRef(false);
  const finish = (save: boolean) => {
    if (isDone.current) return;
    isDone.current = true;
    const next = text.trim();
    onDone(save && next !== "" && next !== title ? next : undefined);
  };
  return (
    <input
      className="title-editor"
      aria-label="Title of the chat"
      value={text}
      maxLength={200}
      // biome-ignore lint/a11y/noAutofocus: the user has just asked to rename
      autoFocus
      onFocus={(event) => event.target.select()}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.key === "Enter") finish(true);
        if (event.key === "Escape") {
          event.stopPropagation();
          finish(false);
        }
      }}
    />
  );
}

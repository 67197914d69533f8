import { type RefObject, useEffect, useLayoutEffect } from "react";
import { IconButton } from "../controls/IconButton.tsx";
import { SendIcon, StopIcon } from "../controls/icons.tsx";

interface Props {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly isAnswering: boolean;
  readonly onText: (text: string) => void;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}

export function Composer({ field, text, isAnswering, onText, onSend, onStop }: Props) {
  const isEmpty = text.trim() === "";
  const submit = () => {
    if (!isEmpty && !isAnswering) onSend(text.trim());
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text
  useLayoutEffect(() => {
    if (field.current === null) return;
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [text, field]);

  useEffect(() => {
    // On a touch screen the focus would bring up the keyboard.
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [field]);

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label className="visually-hidden" htmlFor="message">
        Message
      </label>
      <textarea
        ref={field}
        id="message"
        rows={1}
        placeholder="Write a message"
        value={text}
        aria-describedby="composer-hint"
        onChange={(event) => onText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {isAnswering ? (
        <IconButton label="Stop" className="primary" onClick={onStop}>
          <StopIcon />
        </IconButton>
      ) : (
        <IconButton label="Send" type="submit" className="primary" disabled={isEmpty}>
          <SendIcon />
        </IconButton>
      )}
      <span id="composer-hint" className="visually-hidden">
        Enter sends, Shift and Enter make a new line.
      </span>
    </form>
  );
}

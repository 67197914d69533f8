import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { IconButton } from "../controls/IconButton.tsx";
import { AttachIcon, CloseIcon, SendIcon, StopIcon } from "../controls/icons.tsx";

interface Props {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  /** The files to send with the message. */
  readonly files: readonly File[];
  readonly isAnswering: boolean;
  readonly onText: (text: string) => void;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}

/** What the handler takes by default. */
const FILE_TYPES = "image/png,image/jpeg,image/gif,image/webp,application/pdf";

export function Composer({ field, text, files, isAnswering, onText, onFiles, onSend, onStop }: Props) {
  const picker = useRef<HTMLInputElement>(null);
  const isEmpty = text.trim() === "" && files.length === 0;
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
      {files.length > 0 && (
        <ul className="attached" aria-label="Attached files">
          {files.map((file) => (
            <li key={`${file.name} ${file.lastModified}`}>
              {file.name}
              <IconButton
                label={`Remove ${file.name}`}
                onClick={() => onFiles(files.filter((other) => other !== file))}
              >
                <CloseIcon />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <input
        ref={picker}
        type="file"
        className="visually-hidden"
        aria-label="Files to attach"
        tabIndex={-1}
        accept={FILE_TYPES}
        multiple
        onChange={(event) => {
          onFiles([...files, ...(event.target.files ?? [])]);
          event.target.value = "";
          field.current?.focus();
        }}
      />
      <IconButton label="Attach files" onClick={() => picker.current?.click()}>
        <AttachIcon />
      </IconButton>
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

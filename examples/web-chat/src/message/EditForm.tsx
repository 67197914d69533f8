import { useEffect, useRef, useState } from "react";

/** Edits a message of the user. */
export function EditForm({
  text,
  onSave,
  onCancel,
}: {
  readonly text: string;
  readonly onSave: (text: string) => void;
  readonly onCancel: () => void;
}) {
  const [value, setValue] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  }, [text]);
  const save = () => {
    if (value.trim() !== "") onSave(value.trim());
  };
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={field}
        aria-label="Edit your message"
        aria-describedby="edit-hint"
        value={value}
        rows={Math.min(8, value.split("\n").length + 1)}
        onChange={(event) => setValue(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          save();
        }}
      />
      <div className="edit-actions">
        <span id="edit-hint">What is here now stays as another version.</span>
        <button type="button" className="button small" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button small primary" disabled={value.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}

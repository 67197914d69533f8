import { IconButton } from "../controls/IconButton.tsx";
import { NextIcon, PreviousIcon } from "../controls/icons.tsx";

/** The versions of a message: which one is shown, and arrows to the others. */
export function Siblings({
  ids,
  shown,
  isDisabled,
  onSwitch,
}: {
  readonly ids: readonly string[];
  readonly shown: string;
  readonly isDisabled: boolean;
  readonly onSwitch: (messageId: string) => void;
}) {
  const index = ids.indexOf(shown);
  const arrow = (label: string, step: number, icon: React.ReactNode) => {
    const id = ids[index + step];
    return (
      <IconButton
        label={label}
        disabled={isDisabled || id === undefined}
        onClick={() => id !== undefined && onSwitch(id)}
      >
        {icon}
      </IconButton>
    );
  };
  return (
    <fieldset className="siblings" aria-label="Versions">
      {arrow("Previous version", -1, <PreviousIcon />)}
      <span>
        {index + 1} / {ids.length}
      </span>
      {arrow("Next version", 1, <NextIcon />)}
    </fieldset>
  );
}

import type { ReactNode } from "react";
import { IconButton } from "../controls/IconButton.tsx";
import { ArchiveIcon, CloseIcon, DeleteIcon, MoonIcon, NewIcon, SunIcon } from "../controls/icons.tsx";
import { useTheme } from "../state/use-theme.ts";

interface Props {
  readonly isArchive: boolean;
  readonly onArchive: (isArchive: boolean) => void;
  readonly onNew: () => void;
  readonly onDeleteAll: () => void;
  /** Present if the sidebar is a drawer. */
  readonly onClose?: (() => void) | undefined;
  readonly children: ReactNode;
}

export function Sidebar({ isArchive, onArchive, onNew, onDeleteAll, onClose, children }: Props) {
  const { theme, toggle } = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <>
      <div className="sidebar-head">
        <span className="brand">
          <Mark />
          Scrollback
        </span>
        {onClose && (
          <IconButton label="Close the list of chats" onClick={onClose}>
            <CloseIcon />
          </IconButton>
        )}
      </div>
      <button type="button" className="button new-chat" onClick={onNew}>
        <NewIcon />
        New chat
      </button>
      <div className="sidebar-list">{children}</div>
      <div className="sidebar-foot">
        <button
          type="button"
          className="button quiet"
          aria-pressed={isArchive}
          onClick={() => onArchive(!isArchive)}
        >
          <ArchiveIcon />
          Archive
        </button>
        <IconButton label="Delete all chats" onClick={onDeleteAll}>
          <DeleteIcon />
        </IconButton>
        <IconButton label={`Use the ${other} theme`} onClick={toggle}>
          {theme === "dark" ? <SunIcon /> : <MoonIcon />}
        </IconButton>
      </div>
    </>
  );
}

function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <rect width="24" height="24" rx="6.5" />
      <path d="M7 8h10M7 12h10M7 16h6" />
    </svg>
  );
}

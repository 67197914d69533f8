import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";

export interface MenuItem {
  readonly label: string;
  readonly icon: ReactNode;
  readonly isDangerous?: boolean;
  readonly choose: () => void;
}

/** A button that opens a list of commands. Arrow keys, Home and End move in it; Escape closes it. */
export function Menu({
  label,
  items,
  children,
}: {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly children: ReactNode;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  const onKeyDown = (event: KeyboardEvent) => {
    const entries: (Element | null)[] = [...(list.current?.querySelectorAll("button") ?? [])];
    const at = entries.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
    if (event.key === "Tab") list.current?.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    const entry = entries.at(next % entries.length);
    if (entry instanceof HTMLElement) entry.focus();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        className="icon-button"
        aria-label={label}
        aria-haspopup="menu"
        title={label}
        popoverTarget={id}
      >
        {children}
      </button>
      <div
        ref={list}
        id={id}
        className="menu"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        popover="auto"
        onKeyDown={onKeyDown}
        onToggle={({ newState }) => {
          button.current?.setAttribute("aria-expanded", String(newState === "open"));
          if (newState !== "open") return;
          list.current?.querySelector("button")?.focus({ preventScroll: true });
        }}
      >
        {items.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            className={item.isDangerous ? "menu-item dangerous" : "menu-item"}
            onClick={() => {
              list.current?.hidePopover();
              item.choose();
            }}
          >
            {item.icon}
            {item.label}
          </button>
        ))}
      </div>
    </>
  );
}

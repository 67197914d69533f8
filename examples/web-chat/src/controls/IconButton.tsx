import type { ButtonHTMLAttributes, ReactNode } from "react";

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "aria-label" | "title"> {
  /** The button's action: its name for screen readers, and its tooltip. */
  readonly label: string;
  readonly children: ReactNode;
}

export function IconButton({ label, className = "", children, ...rest }: Props) {
  return (
    <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
      {children}
    </button>
  );
}

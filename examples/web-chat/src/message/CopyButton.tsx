import { useEffect, useState } from "react";
import { IconButton } from "../controls/IconButton.tsx";
import { CheckIcon, CopyIcon } from "../controls/icons.tsx";

const SHOWN_MS = 1_600;

export function CopyButton({ text, label }: { readonly text: () => string; readonly label: string }) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <IconButton
      label={isCopied ? "Copied" : label}
      onClick={() => void navigator.clipboard.writeText(text()).then(() => setIsCopied(true))}
    >
      {isCopied ? <CheckIcon /> : <CopyIcon />}
    </IconButton>
  );
}

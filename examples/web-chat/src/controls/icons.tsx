import type { ReactNode } from "react";

function icon(children: ReactNode) {
  return function Icon() {
    return (
      <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
        {children}
      </svg>
    );
  };
}

export const ArchiveIcon = icon(<path d="M3.5 4.5h13v3h-13zM4.5 7.5v8h11v-8M8 10.5h4" />);
export const AttachIcon = icon(
  <path d="m14.5 9.5-5 5a3 3 0 0 1-4.2-4.2l6-6a2 2 0 0 1 2.8 2.8l-6 6a1 1 0 0 1-1.4-1.4l5-5" />,
);
export const BranchIcon = icon(
  <>
    <circle cx="6" cy="4.75" r="1.75" />
    <circle cx="6" cy="15.25" r="1.75" />
    <circle cx="14" cy="6.75" r="1.75" />
    <path d="M6 6.5v7M14 8.5c0 3-8 1.5-8 5" />
  </>,
);
export const CheckIcon = icon(<path d="m4.5 10.5 3.5 3.5 7.5-8" />);
export const CloseIcon = icon(<path d="m5.5 5.5 9 9m0-9-9 9" />);
export const PreviousIcon = icon(<path d="m12 5-5 5 5 5" />);
export const NextIcon = icon(<path d="m8 5 5 5-5 5" />);
export const CopyIcon = icon(
  <>
    <rect x="7" y="7" width="9" height="9" rx="2" />
    <path d="M13 7V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v5a2 2 0 0 0 2 2h1" />
  </>,
);
export const DeleteIcon = icon(<path d="M4 6h12M8 6V4.5h4V6M5.5 6l.7 9.5h7.6L14.5 6M8.5 9v4M11.5 9v4" />);
export const DownIcon = icon(<path d="M10 4.5v11M5.5 11l4.5 4.5 4.5-4.5" />);
export const EditIcon = icon(<path d="m4 16 .8-3.2L13 4.6l2.4 2.4-8.2 8.2L4 16ZM11.4 6.2l2.4 2.4" />);
export const ExportIcon = icon(<path d="M10 12.5V4M6.5 7.5 10 4l3.5 3.5M4.5 12v4h11v-4" />);
export const FileIcon = icon(<path d="M5.5 3.5h6l3 3v10h-9zM11.5 3.5v3h3" />);
export const MenuIcon = icon(<path d="M3.5 6h13M3.5 10h13M3.5 14h8" />);
export const MoonIcon = icon(<path d="M16 11.8A6.5 6.5 0 0 1 8.2 4a6.5 6.5 0 1 0 7.8 7.8Z" />);
export const MoreIcon = icon(
  <g className="filled">
    <circle cx="4.75" cy="10" r="1.4" />
    <circle cx="10" cy="10" r="1.4" />
    <circle cx="15.25" cy="10" r="1.4" />
  </g>,
);
export const NewIcon = icon(<path d="M10 4.5v11M4.5 10h11" />);
export const PinIcon = icon(<path d="M7 3.5h6l-.8 4.7 2.3 2.8h-9l2.3-2.8L7 3.5ZM10 11v5.5" />);
export const QuestionIcon = icon(
  <path d="M4 4.5h12v9H9.5L6 16.5v-3H4zM8.2 7.7c.3-1.9 3.6-1.6 3.6.2 0 1.2-1.8 1.2-1.8 2.4M10 11.6v.1" />,
);
export const RetryIcon = icon(<path d="M15.5 10a5.5 5.5 0 1 1-1.7-4M15.5 3.5V7H12" />);
export const SendIcon = icon(<path d="M10 16V4.5M5 9.5l5-5 5 5" />);
export const StopIcon = icon(<rect className="filled" x="5.5" y="5.5" width="9" height="9" rx="1.5" />);
export const SunIcon = icon(
  <>
    <circle cx="10" cy="10" r="3.25" />
    <path d="M10 3v1.5M10 15.5V17M3 10h1.5M15.5 10H17M5 5l1.1 1.1M13.9 13.9 15 15M5 15l1.1-1.1M13.9 6.1 15 5" />
  </>,
);
export const WarnIcon = icon(<path d="M10 3.8 17 16H3L10 3.8ZM10 8.5v3.6M10 14v.1" />);

import type { Edit } from "./notes.ts";

/** A call of a process. */
export type Call =
  | {
      readonly kind: "create";
      readonly id: string;
      readonly lists?: readonly string[];
      readonly order?: number;
    }
  | { readonly kind: "change"; readonly id: string; readonly edit: Edit; readonly isSoon?: boolean }
  | { readonly kind: "read" | "remove"; readonly id: string }
  | { readonly kind: "removeAll" }
  | {
      readonly kind: "page";
      readonly list: string;
      readonly direction: "up" | "down";
      readonly limit?: number;
    };

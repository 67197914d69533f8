import type { Metadata } from "next";
import { type ReactNode, Suspense } from "react";
import "./globals.css";

export const metadata: Metadata = { title: "Chats" };

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <Suspense>{children}</Suspense>
      </body>
    </html>
  );
}

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The server's content security policy allows only its own files, so no file is inlined.
  build: { assetsInlineLimit: 0, target: "es2023", chunkSizeWarningLimit: 700 },
});

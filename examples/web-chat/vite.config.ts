import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The policy of the server allows files of its own only, so none is inlined.
  build: { assetsInlineLimit: 0, target: "es2023", chunkSizeWarningLimit: 700 },
});

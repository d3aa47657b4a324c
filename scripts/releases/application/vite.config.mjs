import { defineConfig } from "vite";

export default defineConfig({
  build: {
    // Each asset is a file with a fingerprint: what is inlined can't be missing.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // React stays the same from build to build, as the libraries of most applications do.
        codeSplitting: { groups: [{ name: "vendor", test: /node_modules/ }] },
      },
    },
  },
  logLevel: "warn",
});

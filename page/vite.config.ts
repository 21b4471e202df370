// Builds one HTML file with everything inside: script, style and fonts. Its content security policy names the script by
// its hash, so that nothing else can run and nothing can be fetched, whatever the data hold.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

/** Puts the one script and the one style sheet into the page and fills in the policy. */
function oneFile(): Plugin {
  return {
    name: "genkai-one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("no index.html was built");
      let html = String(page.source);
      let hash = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (name === "index.html") continue;
        if (file.type === "chunk") {
          const code = file.code.trim().replaceAll("</script", "<\\/script");
          hash = createHash("sha256").update(code).digest("base64");
          html = html.replace(/<script type="module"[^>]*><\/script>/, "");
          html = html.replace("<!-- script -->", () => `<script type="module">${code}</script>`);
        } else if (name.endsWith(".css")) {
          html = html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${String(file.source)}</style>`);
        } else {
          throw new Error(`${name} would be a file of its own`);
        }
        delete bundle[name];
      }
      html = html.replace("SCRIPT-HASH", `sha256-${hash}`);
      if (/(src|href)="(?!data:|#)/.test(html.replace(/<script type="module">[^]*<\/script>/, ""))) {
        throw new Error("the page refers to something outside of itself");
      }
      page.source = html;
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [oneFile()],
  build: {
    target: "es2022",
    assetsInlineLimit: 1_000_000,
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 1200,
  },
  test: { environment: "happy-dom" },
} as Parameters<typeof defineConfig>[0]);

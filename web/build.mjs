// Builds the page's files into the package. Every one begins with the sha256 of the sources and of what follows it, so
// that a test can tell, without node, whether it is what these sources build and nobody changed it since.
// With --check nothing is written: it fails where the files there are not what would be written.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const home = fileURLToPath(new URL(".", import.meta.url));
const out = join(home, "..", "src", "eyechart", "reports", "page", "assets");
const fixed = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

function sources() {
  const found = readdirSync(join(home, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(home, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
  const lines = [...fixed, ...found].sort().map((name) => `${name} ${sha256(readFileSync(join(home, name)))}\n`);
  return sha256(lines.join(""));
}

const marks = { "page.js": ["/*", "*/"], "page.css": ["/*", "*/"], "index.html": ["<!--", "-->"] };

function stamped(name, text) {
  const [open, close] = marks[name];
  const notice = name === "page.js" ? `; with preact ${version("preact")}, MIT, LICENSE-preact.txt` : "";
  const stamp = `${open} a page of eyechart; sources ${sources()}; body ${sha256(text)}${notice} ${close}\n`;
  const doctype = "<!doctype html>\n"; // which must stand first
  return name === "index.html" ? doctype + stamp + text : stamp + text;
}

function version(name) {
  return JSON.parse(readFileSync(join(home, "node_modules", name, "package.json"), "utf8")).version;
}

async function bundled(entry) {
  const made = await build({
    absWorkingDir: home, entryPoints: [entry], bundle: true, minify: true, write: false, format: "iife",
    target: "es2022", charset: "ascii", legalComments: "none", jsx: "automatic", jsxImportSource: "preact",
  });
  return made.outputFiles[0].text;
}

const files = {
  "page.js": await bundled("src/main.tsx"),
  "page.css": await bundled("src/page.css"),
  "index.html": readFileSync(join(home, "src", "index.html"), "utf8"),
};
const stale = [];
mkdirSync(out, { recursive: true });
for (const [name, text] of Object.entries(files)) {
  const wanted = stamped(name, text);
  if (!process.argv.includes("--check")) {
    writeFileSync(join(out, name), wanted);
  } else if (readFileSync(join(out, name), "utf8") !== wanted) {
    stale.push(name);
  }
}
if (stale.length) {
  console.error(`Not what these sources build: ${stale.join(", ")}. Run npm run build, and commit what it writes.`);
  process.exit(1);
}

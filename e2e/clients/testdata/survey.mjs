// What the installed packages look like from outside, to compare two versions of them: version, exports, and names of headers that have
// to do with webhooks.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("node_modules/", import.meta.url));
const header = /["'`]((?:[a-z0-9]+-)+(?:signature|timestamp|hmac|webhook|event|delivery|id|sha256|digest)(?:-[a-z0-9]+)*)["'`]/gi;
const concerns = /signature|webhook|hmac|timestamp/i;

function* sources(dir, depth = 0) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules" && depth < 8) yield* sources(path, depth + 1);
    else if (/\.(c|m)?js$/.test(entry.name)) yield path;
  }
}

function headersOf(dir) {
  const found = new Set();
  for (const path of sources(dir)) {
    for (const [, name] of readFileSync(path, "utf8").matchAll(header)) if (concerns.test(name)) found.add(name.toLowerCase());
  }
  return [...found].sort();
}

async function exportsOf(name) {
  try {
    return Object.keys(await import(name)).sort();
  } catch {
    return []; // it has no module of its own name
  }
}

export async function survey() {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  const all = {};
  for (const name of Object.keys(dependencies)) {
    const { version } = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8"));
    all[name] = { version, exports: await exportsOf(name), headers: headersOf(join(folder, name)) };
  }
  return all;
}

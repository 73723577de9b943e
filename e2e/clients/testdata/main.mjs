// Answers each line of standard input, {call, …}, with a line on standard output: {value} or {error}. It ends with its input.
import { createInterface } from "node:readline";
import { readdirSync } from "node:fs";
import { survey } from "./survey.mjs";
import { mock } from "node:test";

console.log = console.error; // standard output is for answers
console.debug = () => {}; // one library prints every request

const libraries = {};
for (const file of readdirSync(new URL("libraries/", import.meta.url)).sort()) {
  const name = file.replace(/\.mjs$/, "");
  // Only a version that isn't the pinned one may fail to load.
  libraries[name] = await import(`./libraries/${file}`).then((m) => m.default, (e) => ({ error: String(e?.message || e) }));
}

const calls = {
  list: () =>
    Object.entries(libraries).map(([name, { sign, verify, ...rest }]) => ({ name, signs: !!sign, verifies: !!verify, ...rest })),

  survey,

  // Libraries take the time from the clock, so that it is set for the call.
  async sign({ library, request, secret, at }) {
    mock.timers.enable({ apis: ["Date"], now: new Date(at) });
    try {
      return await libraries[library].sign(request, secret);
    } finally {
      mock.timers.reset();
    }
  },

  // A library refuses by false, or by an error.
  async verify({ library, request, secret, keys }) {
    if ((await libraries[library].verify(request, secret, keys)) === false) throw new Error("the library refuses it");
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...asked } = JSON.parse(line);
  let answer;
  try {
    answer = { value: await calls[call](asked) };
  } catch (e) {
    answer = { error: String(e?.message || e) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}

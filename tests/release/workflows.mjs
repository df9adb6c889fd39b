// What forges run: each workflow passes actionlint, asks for no rights but those that a job names, takes no action by a name that can
// change, and calls scripts that are there. Run in the root of the repository; the argument is the folder of actionlint.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { createLinter } = createRequire(path.resolve(process.argv[2], "package.json"))("actionlint");
const lint = await createLinter();

/** What is wrong with a workflow. */
function faults(name, text) {
  const found = lint(text, name).map(({ line, message }) => `${name}:${line}: ${message}`);
  if (!/^permissions: \{\}$/m.test(text)) found.push(`${name}: its rights are not empty to begin with`);
  for (const [, action] of text.matchAll(/\buses: *(\S+)/g)) {
    if (!/@[0-9a-f]{40}$/.test(action)) found.push(`${name}: ${action} is not named by a whole commit`);
  }
  return found.concat(missing(name, text));
}

/** The scripts that a file calls and that are not there, or can't be run. */
function missing(name, text) {
  const runs = (script) => (statSync(script, { throwIfNoEntry: false })?.mode ?? 0) & 0o111;
  const called = [...text.matchAll(/(?:^|[ :=-])((?:\.ci|packaging|tests)\/[\w/-]+)/gm)].map(([, script]) => script);
  if (called.length === 0) return [`${name}: calls no script`];
  return called.filter((script) => !runs(script)).map((script) => `${name}: no script ${script}`);
}

const folder = ".github/workflows";
const texts = readdirSync(folder).map((file) => [`${folder}/${file}`, readFileSync(`${folder}/${file}`, "utf8")]);
const wrong = texts.flatMap(([name, text]) => faults(name, text));
wrong.push(...missing(".gitlab-ci.yml", readFileSync(".gitlab-ci.yml", "utf8")));

// That a fault is found: each change of a good file must be one.
const [name, good] = texts[0];
for (const [from, to] of [
  ["runs-on:", "runs-onn:"],
  ["github.sha", "gthub.sha"],
  ["permissions: {}", "permissions: write-all"],
  ["steps:", "steps:\n      - uses: actions/checkout@v6"],
  [".ci/run", ".ci/walk"],
]) {
  const bad = good.replace(from, to);
  if (bad === good || faults(name, bad).length === 0) wrong.push(`${from} → ${to} is not found to be wrong`);
}
for (const line of wrong) console.error(line);
process.exit(wrong.length ? 1 : 0);

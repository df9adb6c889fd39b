// What forges run: each workflow passes actionlint, asks for no rights but those that a job names, takes no action by a name that can
// change, limits the time of each job, and calls scripts that are there. What GitLab runs is YAML, with limits and scripts, too. Run in the root of the repository; the argument is the folder of actionlint.
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
  return found.concat(endless(name, text, "timeout-minutes"), missing(name, text));
}

/** What is wrong with GitLab's file. Of that actionlint reads the form alone; it breaks down at what is not YAML. */
function gitlab(name, text) {
  try {
    lint(text, name);
  } catch {
    return [`${name}: this is not YAML`];
  }
  return endless(name, text, "timeout").concat(missing(name, text));
}

/** Whether a job has an image and no limit of time. */
function endless(name, text, limit) {
  const count = (key) => [...text.matchAll(new RegExp(`^ +${key}: *\\S`, "gm"))].length;
  return count("image") === count(limit) && count(limit) > 0 ? [] : [`${name}: a job has no ${limit}`];
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
const other = [".gitlab-ci.yml", readFileSync(".gitlab-ci.yml", "utf8")];
wrong.push(...gitlab(...other));

// That a fault is found: each change of a good file must be one.
for (const [look, [name, good], from, to] of [
  [faults, texts[0], "runs-on:", "runs-onn:"],
  [faults, texts[0], "github.sha", "gthub.sha"],
  [faults, texts[0], "permissions: {}", "permissions: write-all"],
  [faults, texts[0], "steps:", "steps:\n      - uses: actions/checkout@v6"],
  [faults, texts[0], "    timeout-minutes: 180\n", ""],
  [faults, texts[0], ".ci/run", ".ci/walk"],
  [gitlab, other, "  timeout: 3h\n", ""],
  [gitlab, other, ".ci/run", ".ci/walk"],
  [gitlab, other, "tests:\n", "tests: [\n"], // The last one: actionlint is of no use afterwards.
]) {
  const bad = good.replace(from, to);
  if (bad === good || look(name, bad).length === 0) wrong.push(`${name}: ${from} → ${to} is not found to be wrong`);
}
for (const line of wrong) console.error(line);
process.exit(wrong.length ? 1 : 0);

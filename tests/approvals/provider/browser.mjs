// What a head of HR does in Chromium, by the DevTools protocol: node browser.mjs LINK LEAVERS REPORT
//
// Opens the link of a mail, logs in, looks at what is held, approves all of it, and opens the report of the file.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [link, leavers, report] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'browser-'));
const names = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
const browser = spawn('chromium', [...names, '--remote-debugging-pipe', `--user-data-dir=${home}`, 'about:blank'], {
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
});

// Messages are JSON, each with a zero byte behind it.
const answers = new Map();
let rest = '';
let last = 0;
browser.stdio[4].on('data', (bytes) => {
    rest += bytes;
    const messages = rest.split('\0');
    rest = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
        answers.get(message.id)?.(message);
    }
});

function ask(method, params = {}, sessionId = undefined) {
    const id = (last += 1);
    browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => {
        answers.set(id, ({ error, result }) => (error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result)));
    });
}

const { targetInfos } = await ask('Target.getTargets');
const page = targetInfos.find((target) => target.type === 'page');
const { sessionId } = await ask('Target.attachToTarget', { targetId: page.targetId, flatten: true });
const see = async (expression) =>
    (await ask('Runtime.evaluate', { expression, returnByValue: true }, sessionId)).result.value;

// Waits until the page says so. A page that is being left has nothing to say.
async function until(what, expression) {
    for (let left = 600; left > 0; left -= 1) {
        if (await see(expression).catch(() => undefined)) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const text = await see('location.href + "\\n" + document.body.innerText');
    throw new Error(`${what}: ${text}`);
}

async function picture(name) {
    if (!process.env.ROSTERD_PICTURES) return;
    for (const width of [390, 1440]) {
        for (const value of ['light', 'dark']) {
            await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] }, sessionId);
            const size = { width, height: 1200, deviceScaleFactor: 1, mobile: width < 500 };
            await ask('Emulation.setDeviceMetricsOverride', size, sessionId);
            const { data } = await ask('Page.captureScreenshot', { captureBeyondViewport: true }, sessionId);
            writeFileSync(join(process.env.ROSTERD_PICTURES, `${name}-${width}-${value}.png`), Buffer.from(data, 'base64'));
        }
    }
}

const go = (url) => ask('Page.navigate', { url }, sessionId);
const shows = (text) => `document.body.innerText.includes(${JSON.stringify(text)})`;

try {
    await go(link);
    await until('the provider asks who it is', '!!document.querySelector("input[name=login]")');
    await see('document.querySelector("input[name=login]").value = "ana"');
    await see('document.querySelector("input[name=password]").value = "x"');
    await see('document.querySelector("form").requestSubmit()');
    await until('the provider asks for consent', '!document.querySelector("input[name=login]") && !!document.querySelector("form")');
    await see('document.querySelector("form").requestSubmit()');
    await until('the login leads to what is held', shows(`${leavers} held (set `));
    if (!(await see(shows('ana@example.com')))) throw new Error('the page does not say who is logged in');
    if (!(await see(shows('max_leavers')))) throw new Error('the page does not say why');
    await picture('held');
    await see('document.querySelector("td a[href^=\'/person/\']").click()');
    await until('a key leads to the story of a person', shows('What happened'));
    await picture('person');
    await see('history.back()');
    await until('back to what is held', shows(`${leavers} held (set `));
    await see('document.querySelector("input[name=scope][value=all]").click()');
    await see('document.querySelector("button[value=approve]").click()');
    await until('it is approved', shows(`${leavers} changes released`));
    const updated = () => readFileSync(report, 'utf8').includes('Brought up to date');
    for (let left = 600; left > 0 && !updated(); left -= 1) await new Promise((resolve) => setTimeout(resolve, 100));
    await go(`file://${report}`);
    await until('the report is up to date', `document.querySelector('h1').innerText === 'The file was used' && ${shows('Brought up to date')}`);
    if (await see(shows('are not in this file'))) throw new Error('the report still says that people are missing');
    if (!(await see(shows(`Removed (${leavers})`)))) throw new Error('the report does not say who was removed');
    await picture('report');
} catch (error) {
    console.error(error.message);
    process.exitCode = 1;
} finally {
    const gone = new Promise((resolve) => browser.once('exit', resolve));
    ask('Browser.close').catch(() => {});
    await gone;
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

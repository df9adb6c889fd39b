// A mail server that keeps what it gets: node mail.mjs PORT FOLDER, a file for each mail.
import { createServer } from 'node:net';
import { renameSync, writeFileSync } from 'node:fs';

const [port, folder] = process.argv.slice(2);
let count = 0;

createServer((socket) => {
    let text = '';
    let mail;
    const say = (line) => socket.write(`${line}\r\n`);
    say('220 mail');
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
        text += bytes;
        for (;;) {
            const end = mail === undefined ? '\r\n' : '\r\n.\r\n';
            const at = text.indexOf(end);
            if (at < 0) return;
            const part = text.slice(0, at);
            text = text.slice(at + end.length);
            if (mail !== undefined) {
                mail = undefined;
                const path = `${folder}/${(count += 1)}.mail`;
                writeFileSync(`${path}.part`, part);
                renameSync(`${path}.part`, path);
                say('250 kept');
            } else if (part.toUpperCase() === 'DATA') {
                mail = '';
                say('354 go on');
            } else if (part.toUpperCase() === 'QUIT') {
                say('221 bye');
                socket.end();
            } else {
                say('250 ok');
            }
        }
    });
}).listen(Number(port), '127.0.0.1');

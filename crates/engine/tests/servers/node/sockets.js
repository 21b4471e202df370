// WebSocket servers on ws, one under each path, that do what the client has to cope with.
//   node sockets.js FOLDER-WITH-WS ACCESS-LOG
// Says where it listens, and `closed PATH CODE` for each connection that ended.
'use strict';
const { appendFileSync } = require('node:fs');
const http = require('node:http');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const [, , folder, log] = process.argv;
const { WebSocketServer } = createRequire(join(folder, 'server.js'))('ws');

const echo = (socket) => socket.on('message', (data, binary) => socket.send(data, { binary }));

const deflate = (settings) => ({ perMessageDeflate: { threshold: 0, ...settings } });

// In pieces of a third, with a ping between them.
function inFragments(socket) {
  socket.on('message', (data, binary) => {
    const third = Math.ceil(data.length / 3);
    for (let at = 0; at < data.length; at += third) {
      socket.send(data.subarray(at, at + third), { binary, fin: at + third >= data.length });
      socket.ping('between');
    }
  });
}

const onMessage = (act) => (socket) => socket.on('message', (data) => act(socket, data));

const servers = {
  '/echo': [{}, echo],
  '/takeover': [deflate({}), echo],
  '/no-takeover': [deflate({ serverNoContextTakeover: true, clientNoContextTakeover: true }), echo],
  '/small-window': [deflate({ serverMaxWindowBits: 9 }), echo],
  '/fragments': [{}, inFragments],
  '/fragments-deflate': [deflate({}), inFragments],
  // In one segment with the 101.
  '/welcome': [{}, (socket) => { socket.send('welcome'); echo(socket); }],
  '/small': [{ maxPayload: 1000 }, echo],
  '/going-away': [{}, onMessage((socket) => socket.close(1001, 'maintenance'))],
  '/own-code': [{}, onMessage((socket) => socket.close(4321, 'of the application'))],
  '/no-code': [{}, onMessage((socket) => socket.close())],
  '/terminate': [{}, onMessage((socket) => socket.terminate())],
  '/closes-at-once': [{}, (socket) => socket.close(1013, 'try again later')],
  '/invalid-text': [{}, onMessage((socket) => socket.send(Buffer.from([0x61, 0xff, 0x62]), { binary: false }))],
  // In two fragments, the border inside a character, and the second half of it wrong.
  '/invalid-border': [{}, onMessage((socket) => {
    socket.send(Buffer.from([0x61, 0xc3]), { binary: false, fin: false });
    socket.send(Buffer.from([0x28, 0x62]), { binary: false, fin: true });
  })],
  '/who': [{ verifyClient: (info, answer) => answer(false, 401, 'Who are you?', { 'WWW-Authenticate': 'Basic' }) }, echo],
  '/wrong-protocol': [{ handleProtocols: () => 'nobody-asked' }, echo],
  '/protocol': [{ handleProtocols: (offered) => [...offered].pop() }, echo],
};

for (const [path, [settings, connected]] of Object.entries(servers)) {
  const server = new WebSocketServer({ noServer: true, ...settings });
  server.on('connection', (socket, request) => {
    appendFileSync(log, `${request.socket.remotePort} 101 GET ${request.url}\n`);
    socket.on('error', () => {});
    socket.on('close', (code) => console.log(`closed ${path} ${code}`));
    connected(socket);
  });
  servers[path] = server;
}

const server = http.createServer((request, response) => response.writeHead(426).end('Upgrade Required'));
server.on('upgrade', (request, socket, head) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname === '/refused') {
    const body = 'x'.repeat(50_000);
    return socket.end(`HTTP/1.1 426 Upgrade Required\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  }
  // Everything said at once leaves in one piece.
  socket.cork();
  servers[pathname].handleUpgrade(request, socket, head, (client) => servers[pathname].emit('connection', client, request));
  return socket.uncork();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));

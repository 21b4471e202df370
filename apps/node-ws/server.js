// The application of the server comparison on ws: `/app` and `/rooms/NAME`, see apps/README.md; `/echo` sends every message
// back as it came.
//   node server.js [--port N] [--max-payload BYTES] [--deflate]
// Says where it listens in one line of JSON; SIGTERM closes all connections with 1001.
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';
import { application } from '../protocol/node/application.js';

const version = `ws ${createRequire(import.meta.url)('ws/package.json').version} on Node.js ${process.versions.node}`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'max-payload': { type: 'string', default: String(100 * 1024 * 1024) },
    deflate: { type: 'boolean', default: false },
  },
});

const server = new WebSocketServer({
  host: '127.0.0.1',
  port: Number(values.port),
  maxPayload: Number(values['max-payload']),
  perMessageDeflate: values.deflate,
});

/** Who is where, by path. */
const places = new Map();
const members = (path) => places.get(path) ?? places.set(path, new Set()).get(path);
const everybody = (path, message, options) => {
  for (const socket of members(path)) socket.send(message, options);
};
const obey = application((message) => everybody('/app', message));

/** What is done with the messages at a path; nothing for one that leads nowhere. */
function place(path) {
  if (path === '/echo') return (socket, data, binary) => socket.send(data, { binary });
  if (path === '/app') {
    return (socket, data, binary) => obey(binary ? data : data.toString(), (answer) => socket.send(answer));
  }
  if (/^\/rooms\/[^/]+$/.test(path)) return (socket, data, binary) => everybody(path, data, { binary });
  return undefined;
}

const pathOf = (request) => request.url.split('?', 1)[0];
server.shouldHandle = (request) => place(pathOf(request)) !== undefined;

server.on('connection', (socket, request) => {
  const path = pathOf(request);
  const hear = place(path);
  members(path).add(socket);
  socket.on('close', () => members(path).delete(socket));
  socket.on('error', (error) => console.error(error.message));
  socket.on('message', (data, binary) => hear(socket, data, binary));
});

server.on('listening', () => {
  const { address, port } = server.address();
  console.log(JSON.stringify({ listening: `${address}:${port}`, version }));
});

process.on('SIGTERM', () => {
  for (const socket of server.clients) socket.close(1001, 'going away');
  server.close(() => process.exit(0));
});

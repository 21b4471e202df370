// The application of the server comparison on ws: `/app` and `/rooms/NAME`, see apps/README.md; `/echo` sends every message
// back as it came.
//   node server.js [--address IP] [--port N] [--max-payload BYTES] [--deflate]
//                  [--redis URL] [--member-queue BYTES] [--trace MESSAGES] [--lose-every N] [--stats TIMEms]
// Says where it listens in one line of JSON; SIGTERM closes all connections with 1001.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';
import { application } from '../protocol/node/application.js';
import { LAST_WORDS, Member, Node, SLOW, flags, memberOf } from '../protocol/node/node.js';
import { Backplane } from './backplane.js';

const version = `ws ${createRequire(import.meta.url)('ws/package.json').version} on Node.js ${process.versions.node}`;

const { values } = parseArgs({
  options: {
    ...flags,
    'max-payload': { type: 'string', default: String(100 * 1024 * 1024) },
    deflate: { type: 'boolean', default: false },
  },
});

const node = new Node(values);
const server = new WebSocketServer({
  noServer: true,
  maxPayload: Number(values['max-payload']),
  perMessageDeflate: values.deflate,
});

/** Who is connected to the application. */
const clients = new Set();
const obey = application((message) => {
  for (const socket of clients) socket.send(message);
});

/** Members of each chat room, by name. */
const rooms = new Map();
const backplane = values.redis && new Backplane(values.redis, node, (room, message, binary) => {
  deliver(room, message, binary, node.returned(message));
});

/** Queues a message for all members of a room. */
function deliver(room, message, binary, place) {
  for (const [socket, member] of rooms.get(room) ?? []) {
    member.queued(place);
    if (socket.bufferedAmount > 0 && socket.bufferedAmount + message.length > node.memberQueue) {
      disconnect(room, socket, member);
      member.dropped(place);
    } else {
      socket.send(message, { binary }, (error) => (error ? member.dropped(place) : member.written(place)));
    }
  }
}

/** What a slow member does not take soon is lost. */
function disconnect(room, socket, member) {
  rooms.get(room).delete(socket);
  member.tooSlow();
  socket.close(...SLOW);
  setTimeout(() => socket.terminate(), LAST_WORDS).unref();
}

function say(room, message, binary) {
  const { lost, place } = node.received(message);
  if (lost) return;
  if (backplane) backplane.publish(room, message, binary, place);
  else deliver(room, message, binary, place);
}

function enter(room, socket, query) {
  if (!rooms.has(room)) rooms.set(room, new Map());
  const member = new Member(node, memberOf(query));
  rooms.get(room).set(socket, member);
  socket.on('message', (data, binary) => say(room, data, binary));
  socket.on('close', () => {
    const members = rooms.get(room);
    members?.delete(socket);
    if (members?.size === 0) rooms.delete(room);
    member.left();
  });
}

const split = (request) => request.url.split('?', 2);
const roomOf = (path) => /^\/rooms\/([^/]+)$/.exec(path)?.[1];
server.shouldHandle = (request) => {
  const [path] = split(request);
  return path === '/echo' || path === '/app' || roomOf(path) !== undefined;
};

server.on('connection', (socket, request) => {
  const [path, query] = split(request);
  socket.on('error', (error) => console.error(error.message));
  if (path === '/app') {
    clients.add(socket);
    socket.on('close', () => clients.delete(socket));
    socket.on('message', (data, binary) => obey(binary ? data : data.toString(), (answer) => socket.send(answer)));
  } else if (path === '/echo') {
    socket.on('message', (data, binary) => socket.send(data, { binary }));
  } else {
    enter(roomOf(path), socket, query);
  }
});

const http = createServer((request, response) => node.answer(request, response));
http.on('upgrade', async (request, socket, head) => {
  const room = roomOf(split(request)[0]);
  if (room !== undefined && backplane) {
    // It may end while Redis is asked.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => backplane.leave(room));
    try {
      await backplane.enter(room);
    } catch {
      // Redis has been away for too long: this client is not let in, and the others stay.
      socket.destroy();
      return;
    }
  }
  server.handleUpgrade(request, socket, head, (opened) => server.emit('connection', opened, request));
});

try {
  await backplane?.connect();
} catch (error) {
  console.error(`no Redis at ${new URL(values.redis).host}: ${error.message}`);
  process.exit(1);
}
http.listen(Number(values.port), values.address, () => node.announce(http.address(), version));

process.on('SIGTERM', () => {
  for (const socket of server.clients) socket.close(1001, 'going away');
  http.close(() => process.exit(0));
});

// The application of the server comparison on Socket.IO: the namespaces `/app` and `/rooms/NAME`, see apps/README.md. All
// messages are events called `message`, which is what `socket.send` sends.
//   node server.js [--address IP] [--port N] [--max-payload BYTES] [--deflate] [--ping-interval MS] [--ping-timeout MS]
//                  [--redis URL] [--member-queue BYTES] [--trace MESSAGES] [--lose-every N] [--stats TIMEms]
// Says where it listens in one line of JSON; SIGTERM closes all connections.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { Server } from 'socket.io';
import { application } from '../protocol/node/application.js';
import { Member, Node, PASSED, flags, memberOf } from '../protocol/node/node.js';
import { Deliveries } from './deliveries.js';

const version = `socket.io ${createRequire(import.meta.url)('socket.io/package.json').version} on Node.js ${process.versions.node}`;

const { values } = parseArgs({
  options: {
    ...flags,
    'max-payload': { type: 'string', default: '1e6' },
    deflate: { type: 'boolean', default: false },
    'ping-interval': { type: 'string', default: '25000' },
    'ping-timeout': { type: 'string', default: '20000' },
  },
});

const node = new Node(values);
const deliveries = new Deliveries(node);
const http = createServer((request, response) => node.answer(request, response));
const io = new Server(http, {
  serveClient: false,
  transports: ['websocket'],
  maxHttpBufferSize: Number(values['max-payload']),
  perMessageDeflate: values.deflate,
  pingInterval: Number(values['ping-interval']),
  pingTimeout: Number(values['ping-timeout']),
});

const app = io.of('/app');
const obey = application((message) => app.send(message));
app.on('connection', (socket) => {
  socket.on('message', (message) => obey(message, (answer) => socket.send(answer)));
});

if (values.redis) {
  const { shared } = await import('./shared.js');
  try {
    io.adapter(await shared(values.redis, deliveries));
  } catch (error) {
    console.error(`no Redis at ${new URL(values.redis).host}: ${error.message}`);
    process.exit(1);
  }
}

const rooms = io.of(/^\/rooms\/[^/]+$/);
// Nobody is in before other nodes are heard.
rooms.use((socket, next) => Promise.resolve(socket.nsp.adapter.heard).then(() => next(), next));
rooms.on('connection', (socket) => {
  deliveries.follow(socket.conn, new Member(node, memberOf(socket.handshake.url.split('?', 2)[1])));
  socket.on('message', (message) => {
    const { lost, place } = node.received(message);
    if (lost) return;
    node.trace.hop(place, PASSED);
    deliveries.during(place, () => socket.nsp.send(message));
  });
});

http.listen(Number(values.port), values.address, () => node.announce(http.address(), version));

process.on('SIGTERM', () => io.close(() => process.exit(0)));

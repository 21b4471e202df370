// The application of the server comparison on Socket.IO: the namespaces `/app` and `/rooms/NAME`, see apps/README.md. All
// messages are events called `message`, which is what `socket.send` sends.
//   node server.js [--port N] [--max-payload BYTES] [--deflate] [--ping-interval MS] [--ping-timeout MS]
// Says where it listens in one line of JSON; SIGTERM closes all connections.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { Server } from 'socket.io';
import { application } from '../protocol/node/application.js';

const version = `socket.io ${createRequire(import.meta.url)('socket.io/package.json').version} on Node.js ${process.versions.node}`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'max-payload': { type: 'string', default: '1e6' },
    deflate: { type: 'boolean', default: false },
    'ping-interval': { type: 'string', default: '25000' },
    'ping-timeout': { type: 'string', default: '20000' },
  },
});

const http = createServer();
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

io.of(/^\/rooms\/[^/]+$/).on('connection', (socket) => {
  socket.on('message', (message) => socket.nsp.send(message));
});

http.listen(Number(values.port), '127.0.0.1', () => {
  const { address, port } = http.address();
  console.log(JSON.stringify({ listening: `${address}:${port}`, version }));
});

process.on('SIGTERM', () => io.close(() => process.exit(0)));

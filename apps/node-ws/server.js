// WebSocket echo on ws: `/echo` sends every message back as it came.
//   node server.js [--port N] [--max-payload BYTES] [--deflate]
// Says where it listens in one line of JSON; SIGTERM closes all connections with 1001.
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';

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
  path: '/echo',
  maxPayload: Number(values['max-payload']),
  perMessageDeflate: values.deflate,
});

server.on('connection', (socket) => {
  socket.on('error', (error) => console.error(error.message));
  socket.on('message', (data, binary) => socket.send(data, { binary }));
});

server.on('listening', () => {
  const { address, port } = server.address();
  console.log(JSON.stringify({ listening: `${address}:${port}` }));
});

process.on('SIGTERM', () => {
  for (const socket of server.clients) socket.close(1001, 'going away');
  server.close(() => process.exit(0));
});

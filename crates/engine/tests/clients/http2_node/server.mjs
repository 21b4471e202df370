// An HTTP/2 server for tests: what it does is chosen by the path. Listens on a free loopback port and prints it. Ends with
// its standard input. Argument: JSON with `settings` (HTTP/2), `key` and `cert` (files; TLS then).
import { readFileSync } from 'node:fs';
import * as http2 from 'node:http2';

const asked = JSON.parse(process.argv[2] ?? '{}');
const { NGHTTP2_REFUSED_STREAM, NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;
const options = { settings: asked.settings ?? {} };
const server = asked.key
  ? http2.createSecureServer({ ...options, key: readFileSync(asked.key), cert: readFileSync(asked.cert) })
  : http2.createServer(options);

let sessions = 0;
let requests = 0;

server.on('session', (session) => {
  session.number = sessions++;
  session.seen = [];
  session.busy = 0;
  session.on('error', () => {});
});

function hello(stream) {
  stream.respond({ ':status': 200, 'content-type': 'text/plain' });
  stream.end('hello');
}

const paths = {
  '/': hello,
  // 103, then 200 with trailers.
  '/early': (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>; rel=preload' });
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ checksum: 'abc' }));
    stream.end('hello');
  },
  '/nothing': (stream) => stream.respond({ ':status': 204 }, { endStream: true }),
  // So many bytes.
  '/large': (stream, query) => {
    stream.respond({ ':status': 200 });
    stream.end(Buffer.alloc(Number(query), 'y'));
  },
  // 200 when the body was as long as announced, else 400.
  '/upload': (stream, query, headers) => {
    let got = 0;
    stream.on('data', (data) => (got += data.length));
    stream.on('end', () => {
      const right = got === Number(query) && String(got) === headers['content-length'];
      stream.respond({ ':status': right ? 200 : 400 }, { endStream: true });
    });
  },
  // The answer comes before the body has been read.
  '/refuse-body': (stream) => {
    stream.respond({ ':status': 413 }, { endStream: true });
    stream.close(NGHTTP2_NO_ERROR);
  },
  '/busy': (stream) => stream.respond({ ':status': 503 }, { endStream: true }),
  // Every other stream is refused.
  '/refuse': (stream) => (requests++ % 2 ? stream.close(NGHTTP2_REFUSED_STREAM) : hello(stream)),
  // A reset in the middle of the response.
  '/break': (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('half', () => stream.destroy(new Error('broken')));
  },
  '/silent': () => {},
  // The connection is destroyed in the middle of the response.
  '/drop': (stream) => {
    stream.respond({ ':status': 200, 'content-length': '1000' });
    stream.write('half', () => setImmediate(() => stream.session.destroy()));
  },
  // How many requests at once: waits until there are so many, then answers all. 500 when there are more.
  '/together': (stream, query) => {
    const seen = stream.session.seen;
    seen.push(stream);
    if (seen.length > Number(query)) return stream.respond({ ':status': 500 }, { endStream: true });
    if (seen.length === Number(query)) seen.splice(0).forEach((one) => setImmediate(hello, one));
  },
  // When so many requests are there, GOAWAY names the first as the last one processed; only that is answered.
  '/goaway': (stream, query) => {
    const { session } = stream;
    session.seen.push(stream);
    if (session.number > 0) return hello(stream);
    if (session.seen.length === Number(query)) {
      session.goaway(NGHTTP2_NO_ERROR, session.seen[0].id);
      hello(session.seen[0]);
      session.seen.slice(1).forEach((one) => one.on('error', () => {}));
    }
  },
  // Every connection goes away after its first few requests, all of which are answered.
  '/few': (stream, query) => {
    const { session } = stream;
    session.seen.push(stream);
    hello(stream);
    if (session.seen.length === Number(query)) session.close();
  },
  // GOAWAY with an error, and the connection closed.
  '/calm': (stream) => {
    stream.on('error', () => {});
    stream.session.destroy(NGHTTP2_ENHANCE_YOUR_CALM);
  },
  // 200 when the client answers a ping.
  '/ping': (stream) => {
    stream.session.ping((error) => stream.respond({ ':status': error ? 500 : 200 }, { endStream: true }));
  },
};

server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  const [path, query] = headers[':path'].split('?');
  paths[path](stream, query, headers);
});
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();

// What the client has to cope with, each under a path of its own. Says where it listens; logs `PORT STATUS METHOD TARGET`.
'use strict';
const { appendFileSync } = require('node:fs');
const http = require('node:http');
const { gzipSync } = require('node:zlib');

const log = process.argv[2];
const text = 'line of text\n'.repeat(1000);

// Takes the body, all of it, then answers.
function after(request, answer) {
  let bytes = 0;
  request.on('data', (part) => { bytes += part.length; });
  request.on('end', () => answer(bytes));
}

// Bytes of our own making, instead of a response of Node's.
function raw(response, bytes, end) {
  const { socket } = response;
  response.detachSocket(socket);
  note(socket.remotePort, 0, response.req);
  socket[end ? 'end' : 'write'](bytes);
}

function note(port, status, request) {
  appendFileSync(log, `${port} ${status} ${request.method} ${request.url}\n`);
}

const quirks = {
  '/plain': (request, response) => response.end(text),
  '/length': (request, response) => response.writeHead(200, { 'Content-Length': text.length }).end(text),
  '/chunks': (request, response) => {
    response.write('first');
    setImmediate(() => response.end('second'));
  },
  '/trailers': (request, response) => {
    response.writeHead(200, { Trailer: 'X-Sum' });
    response.write(text);
    response.addTrailers({ 'X-Sum': '1' });
    response.end();
  },
  '/hints': (request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' });
    response.writeProcessing();
    setTimeout(() => response.end('after two hints'), 5);
  },
  '/gzip': (request, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip', 'Transfer-Encoding': 'chunked' }).end(gzipSync(text));
  },
  '/nothing': (request, response) => response.writeHead(204).end(),
  '/not-modified': (request, response) => response.writeHead(304, { 'Content-Length': 9 }).end(),
  '/reset-content': (request, response) => response.writeHead(205, { 'Content-Length': 0 }).end(),
  '/teapot': (request, response) => response.writeHead(418).end(text),
  '/closing': (request, response) => response.writeHead(200, { Connection: 'close' }).end(text),
  '/until-close': (request, response) => {
    response.removeHeader('transfer-encoding');
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.write('some');
    response.end(text);
  },
  '/many': (request, response) => answerWith(response, 200, 10),
  '/too-many': (request, response) => answerWith(response, 300, 10),
  '/long': (request, response) => answerWith(response, 3, 15_000),
  '/too-long': (request, response) => answerWith(response, 20, 15_000),
  '/echo': (request, response) => after(request, (bytes) => response.end(String(bytes))),
  // Answers, then reads the body.
  '/early': (request, response) => {
    response.end('before the body');
    request.resume();
  },
  // Answers, and will not have the rest.
  '/deaf': (request, response) => {
    response.writeHead(413, { Connection: 'close' }).end('too large', () => request.socket.destroySoon());
  },
  '/rude': (request, response) => {
    response.writeHead(413, { Connection: 'close' }).end('too large', () => setTimeout(() => request.socket.resetAndDestroy(), 30));
  },
  '/extensions': (request, response) => raw(response, 'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
    + '5;name=value;quoted="a;b"\r\nhello\r\n0;end\r\nX-Trailer: 1\r\n\r\n', true),
  '/old': (request, response) => raw(response, 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi', true),
  '/folded': (request, response) => raw(response, 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n', true),
  // The usual mistake: a length counted in characters.
  '/characters': (request, response) => raw(response, 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ncafé', false),
  '/half': (request, response) => {
    response.writeHead(200, { 'Content-Length': 100 });
    response.write('half');
    setTimeout(() => request.socket.destroy(), 20);
  },
  '/half-chunk': (request, response) => {
    response.write('half');
    setTimeout(() => request.socket.resetAndDestroy(), 20);
  },
  '/never': () => {},
};

function answerWith(response, fields, bytes) {
  const value = 'x'.repeat(bytes);
  for (let n = 0; n < fields; n += 1) response.setHeader(`X-${n}`, value);
  response.end(text);
}

function answer(request, response) {
  const { remotePort } = request.socket;
  response.on('close', () => note(remotePort, response.statusCode, request));
  const quirk = quirks[request.url.split('?')[0]];
  if (quirk) quirk(request, response);
  else response.writeHead(404).end('none such');
}

const server = http.createServer({ keepAliveTimeout: Number(process.argv[3]) }, answer);
server.maxRequestsPerSocket = 5;
server.on('checkContinue', (request, response) => {
  if (request.url !== '/refusing') {
    response.writeContinue();
    return answer(request, response);
  }
  note(request.socket.remotePort, 417, request);
  return response.writeHead(417, { Connection: 'close' }).end();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));

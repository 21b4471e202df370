// A cluster of processes, each with two requests at once; a request waits 50 ms for something else.
//
// node cluster.js PORT WORKERS KEEP_ALIVE_SECONDS

'use strict';

const cluster = require('node:cluster');
const http = require('node:http');

const [port, workers, keepAlive] = process.argv.slice(2).map(Number);
const AT_ONCE = 2;

function serve() {
  let busy = 0;
  const waiting = [];
  const next = () => {
    if (busy === AT_ONCE || waiting.length === 0) return;
    const response = waiting.shift();
    busy += 1;
    setTimeout(() => {
      busy -= 1;
      response.end('hello\n');
      next();
    }, 50);
  };
  const server = http.createServer((request, response) => {
    waiting.push(response);
    next();
  });
  server.keepAliveTimeout = keepAlive * 1000;
  server.listen(port, '127.0.0.1');
}

if (cluster.isPrimary) {
  for (let i = 0; i < workers; i += 1) cluster.fork();
} else {
  serve();
}

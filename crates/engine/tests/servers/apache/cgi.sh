#!/bin/sh
# One script under many names. Those that begin with nph- write the whole response themselves, Apache passes it on
# as it is and closes.
case ${0##*/} in
chunked) # Apache sees no end of it at first.
  printf 'Content-Type: text/plain\n\nfirst'
  sleep 0.05
  echo second
  ;;
echo)
  printf 'Content-Type: text/plain\n\n'
  cat
  ;;
no-content) printf 'Status: 204 No Content\n\na body nevertheless\n' ;;
not-modified) printf 'Status: 304 Not Modified\n\na body nevertheless\n' ;;
refused) printf 'Status: 403 Forbidden\nContent-Type: text/plain\n\nno\n' ;;
broken) echo 'no header at all' ;;
nph-bare) printf 'HTTP/1.0 200 OK\r\n\r\nuntil the very end' ;;
nph-hints) printf 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi' ;;
nph-extensions) printf 'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b;c="d"\r\nhi\r\n0;last\r\nX-Sum: 1\r\n\r\n' ;;
nph-folded) printf 'HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 0\r\n\r\n' ;;
nph-twice) printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi' ;;
nph-short) printf 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi' ;;
nph-silent) ;;
esac

# A Rack application that waits 50 ms for something else, one request a thread at a time.
#
#   puma -t 2:2 -b "tcp://127.0.0.1:8000?backlog=512" apps/command/sync.ru
run lambda { |_env|
  sleep 0.05
  [200, { "content-type" => "text/plain" }, ["hello\n"]]
}

# As many clients at once as there are places for; each waits 50 ms for something else, and keeps its place until its connection is closed.
#
#   ruby apps/command/webrick.rb 8000 8 30
require "webrick"

port, clients, timeout = ARGV.map(&:to_i)
server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1", Port: port, MaxClients: clients, RequestTimeout: timeout,
  Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN), AccessLog: []
)
server.mount_proc("/") do |_request, response|
  sleep 0.05
  response.content_type = "text/plain"
  response.body = "hello\n"
end
trap("TERM") { server.shutdown }
server.start

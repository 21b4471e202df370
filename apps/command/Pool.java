// A pool of threads, each with one request at a time; each request waits 50 ms for something else.
//
// java -Dsun.net.httpserver.nodelay=true Pool.java PORT THREADS BACKLOG

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Pool {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        int threads = Integer.parseInt(args[1]);
        int backlog = Integer.parseInt(args[2]);
        byte[] body = "hello\n".getBytes();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), backlog);
        server.setExecutor(Executors.newFixedThreadPool(threads));
        server.createContext("/", exchange -> {
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}

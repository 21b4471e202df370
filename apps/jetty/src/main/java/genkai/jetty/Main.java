package genkai.jetty;

import genkai.Application;
import genkai.Node;
import java.time.Duration;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

/** Serves the application at /app and chat rooms at /rooms/NAME. Settings are system properties; without them Jetty's own. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Server server = new Server(new QueuedThreadPool(Integer.getInteger("genkai.threads", 200)));
        ServerConnector connector = new ServerConnector(server);
        String address = System.getProperty("genkai.address", "127.0.0.1");
        connector.setHost(address);
        connector.setPort(Integer.getInteger("genkai.port", 0));
        connector.setAcceptedSendBufferSize(Integer.getInteger("genkai.sendBuffer", -1));
        server.addConnector(connector);
        Node node = new Node();
        WebSocketUpgradeHandler sockets = WebSocketUpgradeHandler.from(server, container -> configure(container, node));
        sockets.setHandler(new Pages(node));
        server.setHandler(sockets);
        server.setStopAtShutdown(true);
        server.start();
        String version = "Jetty " + Server.getVersion() + " on Java " + System.getProperty("java.version");
        int port = connector.getLocalPort();
        System.out.printf("{\"listening\":\"%s:%d\",\"version\":\"%s\"}%n", address, port, version);
        System.setProperty(Node.LISTENING, "");
    }

    private static void configure(ServerWebSocketContainer container, Node node) {
        container.setIdleTimeout(Duration.ofMillis(Long.getLong("genkai.idle", container.getIdleTimeout().toMillis())));
        long largest = Long.getLong("genkai.maxMessage", container.getMaxTextMessageSize());
        container.setMaxTextMessageSize(largest);
        container.setMaxBinaryMessageSize(largest);
        int buffer = Integer.getInteger("genkai.buffer", container.getOutputBufferSize());
        container.setInputBufferSize(buffer);
        container.setOutputBufferSize(buffer);
        Application application = new Application();
        container.addMapping("/app", (request, response, callback) -> new Endpoint(node, application));
        container.addMapping("/rooms/*", (request, response, callback) -> {
            String room = request.getHttpURI().getPath().substring("/rooms/".length());
            return new Endpoint(node, node.enter(room, request.getHttpURI().getQuery()));
        });
    }

    /** Answers plain HTTP. */
    private static final class Pages extends Handler.Abstract {
        private final Node node;

        Pages(Node node) {
            this.node = node;
        }

        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            String page = node.page(request.getHttpURI().getPath());
            if (page == null) return false;
            response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain;charset=utf-8");
            Content.Sink.write(response, true, page, callback);
            return true;
        }
    }
}

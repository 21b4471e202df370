package genkai.jetty;

import genkai.Application;
import genkai.Room;
import java.time.Duration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

/** Serves the application at /app and chat rooms at /rooms/NAME. Settings are system properties; without them Jetty's own. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Server server = new Server(new QueuedThreadPool(Integer.getInteger("genkai.threads", 200)));
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.getInteger("genkai.port", 0));
        connector.setAcceptedSendBufferSize(Integer.getInteger("genkai.sendBuffer", -1));
        server.addConnector(connector);
        server.setHandler(WebSocketUpgradeHandler.from(server, Main::configure));
        server.setStopAtShutdown(true);
        server.start();
        String version = "Jetty " + Server.getVersion() + " on Java " + System.getProperty("java.version");
        int port = connector.getLocalPort();
        System.out.printf("{\"listening\":\"127.0.0.1:%d\",\"version\":\"%s\"}%n", port, version);
    }

    private static void configure(ServerWebSocketContainer container) {
        container.setIdleTimeout(Duration.ofMillis(Long.getLong("genkai.idle", container.getIdleTimeout().toMillis())));
        long largest = Long.getLong("genkai.maxMessage", container.getMaxTextMessageSize());
        container.setMaxTextMessageSize(largest);
        container.setMaxBinaryMessageSize(largest);
        int buffer = Integer.getInteger("genkai.buffer", container.getOutputBufferSize());
        container.setInputBufferSize(buffer);
        container.setOutputBufferSize(buffer);
        Application application = new Application();
        container.addMapping("/app", (request, response, callback) -> new Endpoint(application));
        container.addMapping("/rooms/*", (request, response, callback) ->
            new Endpoint(Room.called(request.getHttpURI().getPath())));
    }
}

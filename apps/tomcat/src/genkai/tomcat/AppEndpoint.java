package genkai.tomcat;

import genkai.Application;
import jakarta.websocket.OnOpen;
import jakarta.websocket.Session;
import jakarta.websocket.server.ServerEndpoint;

/** The application. */
@ServerEndpoint("/app")
public final class AppEndpoint extends Endpoint {
    private static final Application APPLICATION = new Application();

    @OnOpen
    public void opened(Session session) {
        open(session, APPLICATION);
    }
}

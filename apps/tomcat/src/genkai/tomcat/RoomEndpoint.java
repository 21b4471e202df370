package genkai.tomcat;

import genkai.Member;
import jakarta.websocket.HandshakeResponse;
import jakarta.websocket.OnOpen;
import jakarta.websocket.Session;
import jakarta.websocket.server.HandshakeRequest;
import jakarta.websocket.server.ServerEndpoint;
import jakarta.websocket.server.ServerEndpointConfig;

/** A chat room. */
@ServerEndpoint(value = "/rooms/{name}", configurator = RoomEndpoint.Door.class)
public final class RoomEndpoint extends Endpoint {
    private static final String MEMBER = "member";

    @OnOpen
    public void opened(Session session) {
        open(session, (Member) session.getUserProperties().get(MEMBER));
    }

    /** Lets in before the handshake is answered. */
    public static final class Door extends ServerEndpointConfig.Configurator {
        @Override
        public void modifyHandshake(ServerEndpointConfig config, HandshakeRequest request, HandshakeResponse response) {
            String path = request.getRequestURI().getPath();
            String room = path.substring(path.lastIndexOf('/') + 1);
            config.getUserProperties().put(MEMBER, Pages.NODE.enter(room, request.getQueryString()));
        }
    }
}

package genkai.tomcat;

import genkai.Room;
import jakarta.websocket.OnOpen;
import jakarta.websocket.Session;
import jakarta.websocket.server.PathParam;
import jakarta.websocket.server.ServerEndpoint;

/** A chat room. */
@ServerEndpoint("/rooms/{name}")
public final class RoomEndpoint extends Endpoint {
    @OnOpen
    public void opened(Session session, @PathParam("name") String room) {
        open(session, Room.called(room));
    }
}

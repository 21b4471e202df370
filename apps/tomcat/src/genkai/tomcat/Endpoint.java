package genkai.tomcat;

import genkai.Place;
import jakarta.websocket.OnClose;
import jakarta.websocket.OnError;
import jakarta.websocket.OnMessage;
import jakarta.websocket.Session;
import java.nio.ByteBuffer;

/** What the endpoints have in common; there is one a connection. */
public abstract class Endpoint {
    private Place place;
    private Connection client;

    /** Called by the method that opens. */
    final void open(Session session, Place where) {
        place = where;
        client = Connection.open(session);
        place.joined(client);
    }

    @OnMessage
    public void heard(String message) {
        place.heard(client, message);
    }

    @OnMessage
    public void heard(ByteBuffer message) {
        place.heard(client, message);
    }

    @OnClose
    public void closed() {
        place.left(client);
    }

    /** The connection is closed after it. */
    @OnError
    public void failed(Throwable error) {
        System.err.println(error);
    }
}

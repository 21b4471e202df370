package genkai.jetty;

import genkai.Client;
import genkai.Message;
import genkai.Node;
import genkai.Place;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;

/** One connection. Jetty queues what is sent, so nobody waits for a client. */
public final class Endpoint implements Session.Listener.AutoDemanding {
    private final Node node;
    private final Place place;
    private Client client;

    Endpoint(Node node, Place where) {
        this.node = node;
        place = where;
    }

    @Override
    public void onWebSocketOpen(Session session) {
        client = new Connection(session, node);
        place.joined(client);
    }

    @Override
    public void onWebSocketText(String text) {
        place.heard(client, text);
    }

    /** The buffer is Jetty's own until the callback is called; a room's members may get it later. */
    @Override
    public void onWebSocketBinary(ByteBuffer data, Callback callback) {
        ByteBuffer copy = ByteBuffer.allocate(data.remaining()).put(data).flip();
        callback.succeed();
        place.heard(client, copy);
    }

    @Override
    public void onWebSocketClose(int code, String reason) {
        place.left(client);
    }

    /** Its end is told by {@link #onWebSocketClose}. */
    @Override
    public void onWebSocketError(Throwable error) {
        System.err.println(error);
    }

    private record Connection(Session session, Node node) implements Client {
        @Override
        public void say(String text) {
            session.sendText(text, Callback.NOOP);
        }

        @Override
        public void say(ByteBuffer data) {
            session.sendBinary(data, Callback.NOOP);
        }

        @Override
        public void send(Message message, Consumer<Boolean> sent) {
            Callback callback = Callback.from(() -> sent.accept(true), error -> sent.accept(false));
            if (message.text() != null) session.sendText(message.text(), callback);
            else session.sendBinary(message.data().duplicate(), callback);
        }

        @Override
        public void end(int code, String reason) {
            session.close(code, reason, Callback.NOOP);
            node.later(session::disconnect, Node.LAST_WORDS);
        }
    }
}

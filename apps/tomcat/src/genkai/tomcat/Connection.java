package genkai.tomcat;

import genkai.Client;
import jakarta.websocket.RemoteEndpoint;
import jakarta.websocket.Session;
import java.io.IOException;
import java.nio.ByteBuffer;

/** A session. The blocking remote endpoint takes one message at a time, so whoever has one to send waits for the others. */
final class Connection implements Client {
    private static final boolean AGGREGATE = Boolean.getBoolean("genkai.aggregation");

    private final Session session;
    private final RemoteEndpoint.Basic remote;

    private Connection(Session session) {
        this.session = session;
        remote = session.getBasicRemote();
        session.setMaxIdleTimeout(Long.getLong("genkai.idle", session.getMaxIdleTimeout()));
        int largest = Integer.getInteger("genkai.maxMessage", session.getMaxTextMessageBufferSize());
        session.setMaxTextMessageBufferSize(largest);
        session.setMaxBinaryMessageBufferSize(largest);
    }

    static Connection open(Session session) {
        Connection connection = new Connection(session);
        try {
            connection.remote.setBatchingAllowed(AGGREGATE);
        } catch (IOException e) {
            connection.gone(e);
        }
        return connection;
    }

    @Override
    public synchronized void say(String text) {
        try {
            remote.sendText(text);
        } catch (IOException | IllegalStateException e) {
            gone(e);
        }
    }

    @Override
    public synchronized void say(ByteBuffer data) {
        try {
            remote.sendBinary(data);
        } catch (IOException | IllegalStateException e) {
            gone(e);
        }
    }

    @Override
    public synchronized void flush() {
        if (!AGGREGATE) return;
        try {
            remote.flushBatch();
        } catch (IOException | IllegalStateException e) {
            gone(e);
        }
    }

    /** Its end is told to the endpoint, too. */
    private void gone(Exception e) {
        if (session.isOpen()) System.err.println(e);
    }
}

package genkai.tomcat;

import genkai.Client;
import genkai.Message;
import genkai.Node;
import jakarta.websocket.CloseReason;
import jakarta.websocket.RemoteEndpoint;
import jakarta.websocket.SendHandler;
import jakarta.websocket.Session;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.Consumer;

/**
 * A session. The application uses the blocking remote endpoint, which takes one message at a time, so whoever has one to send waits for
 * the others; rooms use the other, which does not wait.
 */
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

    @Override
    public void send(Message message, Consumer<Boolean> sent) {
        SendHandler handler = result -> sent.accept(result.isOK());
        try {
            if (message.text() != null) session.getAsyncRemote().sendText(message.text(), handler);
            else session.getAsyncRemote().sendBinary(message.data().duplicate(), handler);
        } catch (IllegalStateException e) {
            // It is closed.
            sent.accept(false);
        }
    }

    @Override
    public void end(int code, String reason) {
        // How long Tomcat waits for what is being sent before, and then for the close frame itself.
        session.getUserProperties().put("org.apache.tomcat.websocket.BLOCKING_SEND_TIMEOUT", Node.LAST_WORDS);
        try {
            session.close(new CloseReason(CloseReason.CloseCodes.getCloseCode(code), reason));
        } catch (IOException | IllegalStateException e) {
            gone(e);
        }
    }

    /** Its end is told to the endpoint, too. */
    private void gone(Exception e) {
        if (session.isOpen()) System.err.println(e);
    }
}

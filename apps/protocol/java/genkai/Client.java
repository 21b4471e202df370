package genkai;

import java.nio.ByteBuffer;
import java.util.function.Consumer;

/** One client's connection, as a server has it. Each may be called by any thread; a client that is gone is no error. */
public interface Client {
    void say(String text);

    void say(ByteBuffer data);

    /** Sends what was held back, where messages are sent together. */
    default void flush() {}

    /** Sends a message without waiting; the next only after `sent` was told, by any thread, whether the socket took it. */
    void send(Message message, Consumer<Boolean> sent);

    /** Closes the connection; cut off, where the client does not take even that within a second. May wait that long. */
    void end(int code, String reason);
}

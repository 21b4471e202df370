package genkai;

import java.nio.ByteBuffer;

/** One client's connection, as a server has it. Both may be called by any thread; a client that is gone is no error. */
public interface Client {
    void say(String text);

    void say(ByteBuffer data);

    /** Sends what was held back, where messages are sent together. */
    default void flush() {}
}

package genkai;

import java.nio.ByteBuffer;

/** Where connections lead to. Called by any thread, for one client by one at a time. */
public interface Place {
    void joined(Client client);

    void left(Client client);

    void heard(Client client, String message);

    /** The buffer is the callee's to keep. */
    void heard(Client client, ByteBuffer message);
}

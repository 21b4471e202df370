package genkai;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** A message as it was sent: a text, or data (the other is null). */
public record Message(String text, ByteBuffer data) {
    static Message of(String text) {
        return new Message(text, null);
    }

    static Message of(ByteBuffer data) {
        return new Message(null, data);
    }

    /** What it takes in a queue. */
    int size() {
        return text != null ? text.length() : data.remaining();
    }

    /** How it begins, so many characters at most. */
    String head(int length) {
        if (text != null) return text.substring(0, Math.min(length, text.length()));
        byte[] head = new byte[Math.min(length, data.remaining())];
        data.duplicate().get(head);
        return new String(head, StandardCharsets.ISO_8859_1);
    }

    /** On its way between nodes: a letter for its kind, and its bytes. */
    byte[] packed() {
        ByteBuffer bytes = text != null ? StandardCharsets.UTF_8.encode(text) : data.duplicate();
        byte[] packed = new byte[bytes.remaining() + 1];
        packed[0] = (byte) (text != null ? 't' : 'b');
        bytes.get(packed, 1, packed.length - 1);
        return packed;
    }

    static Message unpacked(byte[] packed) {
        ByteBuffer bytes = ByteBuffer.wrap(packed, 1, packed.length - 1).slice();
        return packed[0] == 't' ? of(StandardCharsets.UTF_8.decode(bytes).toString()) : of(bytes);
    }
}

package genkai;

/**
 * Who a message of a load is: its first 24 characters, six bits each from '0' (0x30) to 'o' (0x6f), the lowest first. Sender (5),
 * number (8), planned instant (9), and a check (2): the upper twelve bits of FNV-1a over the others. See apps/README.md.
 */
record Identity(int sender, long sequence) {
    static final int LENGTH = 24;
    private static final int CHECKED = 22;

    /** Null for what is no message of a load. */
    static Identity read(Message message) {
        String text = message.head(LENGTH);
        if (text.length() < LENGTH || number(text, CHECKED, LENGTH) != check(text)) return null;
        long sequence = number(text, 5, 13);
        return sequence < 0 ? null : new Identity((int) number(text, 0, 5), sequence);
    }

    private static long number(String text, int from, int to) {
        long value = 0;
        for (int at = to - 1; at >= from; at--) {
            int six = text.charAt(at) - '0';
            if (six < 0 || six > 63) return -1;
            value = value << 6 | six;
        }
        return value;
    }

    private static long check(String text) {
        long hash = 0xcbf29ce484222325L;
        for (int at = 0; at < CHECKED; at++) hash = (hash ^ text.charAt(at)) * 0x100000001b3L;
        return hash >>> 52;
    }
}

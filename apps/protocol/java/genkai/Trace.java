package genkai;

import java.util.ArrayList;
import java.util.List;

/** What became of each of the last messages in this node, for who asks afterwards. Its text is described in apps/README.md. */
final class Trace {
    /** Of what is not traced. */
    static final long NONE = -1;
    /** Members, and lost deliveries, that are kept. */
    private static final int MEMBERS = 1 << 20;
    private static final int DROPS = 1 << 18;

    private final int capacity;
    private final int[] senders;
    private final long[] sequences;
    private final byte[] hops;
    private final int[] queued;
    private final int[] written;
    private final long[] micros;
    private final List<String> drops = new ArrayList<>();
    private final List<String> members = new ArrayList<>();
    private final List<String> gone = new ArrayList<>();
    /** Messages so far: the next place. */
    private long next;
    private long dropped;

    Trace(int messages) {
        capacity = messages;
        senders = new int[capacity];
        sequences = new long[capacity];
        hops = new byte[capacity];
        queued = new int[capacity];
        written = new int[capacity];
        micros = new long[capacity];
    }

    /** A message was seen; its place, if it is traced. */
    long message(Message message, int hop) {
        Identity identity = capacity == 0 ? null : Identity.read(message);
        return identity == null ? NONE : add(identity, hop);
    }

    private synchronized long add(Identity identity, int hop) {
        int at = (int) (next % capacity);
        senders[at] = identity.sender();
        sequences[at] = identity.sequence();
        hops[at] = (byte) hop;
        queued[at] = 0;
        written[at] = 0;
        micros[at] = now();
        return next++;
    }

    private static long now() {
        return System.nanoTime() / 1000;
    }

    private boolean isKept(long place) {
        return place != NONE && next - place <= capacity;
    }

    /** What else happened to it. */
    synchronized void hop(long place, int hop) {
        if (isKept(place)) hops[(int) (place % capacity)] |= (byte) hop;
    }

    /** It was queued for one more member. */
    synchronized void queued(long place) {
        if (isKept(place)) queued[(int) (place % capacity)]++;
    }

    /** One more of them has it. */
    synchronized void written(long place) {
        if (isKept(place)) written[(int) (place % capacity)]++;
    }

    /** One of them will not get it. */
    synchronized void dropped(long place, String member, String why) {
        if (!isKept(place)) return;
        int at = (int) (place % capacity);
        if (drops.size() < DROPS) drops.add("d " + member + " " + senders[at] + " " + sequences[at] + " " + why + " " + now());
        dropped++;
    }

    synchronized void joined(String member) {
        if (capacity > 0 && members.size() < MEMBERS) members.add("j " + member);
    }

    synchronized void left(String member) {
        if (capacity > 0 && gone.size() < MEMBERS) gone.add("l " + member + " " + now());
    }

    synchronized String text() {
        long kept = Math.min(next, capacity);
        StringBuilder text = new StringBuilder((int) Math.min(kept * 40 + 64, 1 << 28));
        for (long place = next - kept; place < next; place++) {
            int at = (int) (place % capacity);
            text.append("m ").append(senders[at]).append(' ').append(sequences[at]).append(' ').append(hops[at]);
            text.append(' ').append(queued[at]).append(' ').append(written[at]).append(' ').append(micros[at]).append('\n');
        }
        for (List<String> lines : List.of(drops, members, gone)) lines.forEach(line -> text.append(line).append('\n'));
        return text.append("end " + next + " " + kept + " " + dropped + " " + drops.size() + "\n").toString();
    }
}

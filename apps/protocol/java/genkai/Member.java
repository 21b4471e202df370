package genkai;

import genkai.Counters.Name;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;

/** A member of a chat room. What is for it waits in its queue, which is bounded; one message at a time is given to its socket. */
public final class Member implements Place {
    /** From the handshake to the connection, ms; who has none by then never comes. */
    private static final long ARRIVAL = 10_000;

    private record Delivery(Message message, long place) {}

    private final Node node;
    private final String room;
    /** Who it says it is; may be null. */
    private final String number;
    private final Queue<Delivery> queue = new ArrayDeque<>();
    private long bytes;
    /** Its connection, once it is there. */
    private Client client;
    /** The first in the queue is being sent. */
    private boolean sending;
    /** A thread is at it. */
    private boolean pumping;
    private boolean slow;
    private boolean gone;

    Member(Node node, String room, String number) {
        this.node = node;
        this.room = room;
        this.number = number;
        node.counters.count(Name.JOINED);
        if (number != null) node.trace.joined(number);
        node.later(this::missed, ARRIVAL);
    }

    String room() {
        return room;
    }

    @Override
    public void joined(Client connection) {
        boolean late;
        synchronized (this) {
            client = connection;
            late = gone;
        }
        if (late) connection.end(Node.SLOW, Node.TOO_SLOW); else pump();
    }

    private void missed() {
        synchronized (this) {
            if (client != null) return;
        }
        leave();
    }

    @Override
    public void left(Client connection) {
        leave();
    }

    @Override
    public void heard(Client connection, String message) {
        node.received(room, Message.of(message));
    }

    @Override
    public void heard(Client connection, ByteBuffer message) {
        node.received(room, Message.of(message));
    }

    /** Queues a message for it, or disconnects it where there is no room. */
    void offer(Message message, long place) {
        Delivery delivery = new Delivery(message, place);
        boolean full;
        synchronized (this) {
            if (gone || slow) return;
            node.counters.count(Name.QUEUED);
            node.trace.queued(place);
            full = !queue.isEmpty() && bytes + message.size() > node.memberQueue;
            if (full) {
                slow = true;
                node.counters.count(Name.SLOW);
                dropped(delivery);
            } else {
                queue.add(delivery);
                bytes += message.size();
            }
        }
        if (full) disconnect(); else pump();
    }

    private void disconnect() {
        leave();
        Client connection;
        synchronized (this) {
            connection = client;
        }
        if (connection == null) return;
        // A server may wait for its socket until it says so.
        Thread closing = new Thread(() -> connection.end(Node.SLOW, Node.TOO_SLOW), "closing");
        closing.setDaemon(true);
        closing.start();
    }

    /** It is not in its room any more; what waits for it is lost, but for what is being sent. */
    private void leave() {
        synchronized (this) {
            if (gone) return;
            gone = true;
            Delivery first = sending ? queue.remove() : null;
            queue.forEach(this::dropped);
            queue.clear();
            if (first != null) queue.add(first);
        }
        node.gone(this);
        node.counters.count(Name.LEFT);
        if (number != null) node.trace.left(number);
    }

    private void dropped(Delivery delivery) {
        node.counters.count(slow ? Name.DROPPED_SLOW : Name.DROPPED_GONE);
        node.trace.dropped(delivery.place(), number == null ? "-" : number, slow ? "slow" : "gone");
    }

    /** Gives what waits to the socket, one after the other. */
    private void pump() {
        synchronized (this) {
            if (pumping) return;
            pumping = true;
        }
        for (;;) {
            Delivery next;
            synchronized (this) {
                next = sending || gone || client == null ? null : queue.peek();
                pumping = next != null;
                if (!pumping) return;
                sending = true;
            }
            client.send(next.message(), this::sent);
        }
    }

    /** What was being sent is in the socket, or is lost. */
    private void sent(boolean taken) {
        synchronized (this) {
            Delivery delivery = queue.remove();
            bytes -= delivery.message().size();
            sending = false;
            if (taken) {
                node.counters.count(Name.WRITTEN);
                node.trace.written(delivery.place());
            } else {
                dropped(delivery);
            }
        }
        pump();
    }
}

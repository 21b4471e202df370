package genkai;

import genkai.Counters.Name;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A node of chat rooms, whatever server it runs on: its rooms, what it counts and tells. Its settings are system properties. */
public final class Node implements AutoCloseable {
    /** Code and reason with which a slow member is disconnected (RFC 6455 section 7.4.1: a policy of the endpoint). */
    public static final int SLOW = 1008;
    public static final String TOO_SLOW = "too slow: the queue of this member is full";
    /** How long it has to take the close frame, ms. */
    public static final long LAST_WORDS = 1000;
    /** Set by who has said where the server listens. */
    public static final String LISTENING = "genkai.listening";

    /** What happened to a message: the bits of HOPS in a trace. */
    private static final int RECEIVED = 1;
    private static final int PUBLISHED = 2;
    private static final int RETURNED = 4;
    private static final int LOST = 8;

    final Counters counters = new Counters();
    final Trace trace = new Trace(Integer.getInteger("genkai.trace", 0));
    final long memberQueue = Long.getLong("genkai.member-queue", 1 << 20);
    private final long loseEvery = Long.getLong("genkai.lose-every", 0);
    private final AtomicLong heard = new AtomicLong();
    private final Map<String, Room> rooms = new ConcurrentHashMap<>();
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1, Node::background);
    private final Backplane backplane;

    /** Ends the process when there is no Redis where one is named. */
    public Node() {
        String url = System.getProperty("genkai.redis");
        backplane = url == null ? null : Backplane.connect(url, this);
        long stats = Long.parseLong(System.getProperty("genkai.stats", "0ms").replace("ms", ""));
        if (stats > 0) timer.scheduleAtFixedRate(this::tell, stats, stats, TimeUnit.MILLISECONDS);
    }

    /** Ends what it does by itself. */
    @Override
    public void close() {
        timer.shutdownNow();
        if (backplane != null) backplane.close();
    }

    private static Thread background(Runnable work) {
        Thread thread = new Thread(work, "node");
        thread.setDaemon(true);
        return thread;
    }

    private void tell() {
        if (System.getProperty(LISTENING) != null) System.out.println(counters.line());
    }

    /** Does something later. */
    public void later(Runnable work, long ms) {
        timer.schedule(work, ms, TimeUnit.MILLISECONDS);
    }

    /** What is at a path for who asks by plain HTTP; null: nothing. */
    public String page(String path) {
        return switch (path) {
            case "/counters" -> counters.line() + "\n";
            case "/trace" -> trace.text();
            default -> null;
        };
    }

    /**
     * Somebody is about to enter a room, and is a member from now on, so that nothing is missed between the answer to its
     * handshake and its connection. Waits until the other nodes are heard.
     *
     * @param query of the request; may be null
     */
    public Member enter(String room, String query) {
        if (backplane != null) backplane.enter(room);
        return rooms.computeIfAbsent(room, name -> new Room()).enter(new Member(this, room, number(query)));
    }

    private static String number(String query) {
        if (query == null) return null;
        for (String pair : query.split("&")) {
            if (pair.matches("member=[0-9]{1,9}")) return pair.substring(pair.indexOf('=') + 1);
        }
        return null;
    }

    /** It is not there any more. */
    void gone(Member member) {
        rooms.get(member.room()).leave(member);
        if (backplane != null) backplane.leave(member.room());
    }

    /** A member sent a message. */
    void received(String room, Message message) {
        counters.count(Name.RECEIVED);
        long place = trace.message(message, RECEIVED);
        if (loseEvery > 0 && heard.incrementAndGet() % loseEvery == 0) {
            counters.count(Name.LOST_INSIDE);
            trace.hop(place, LOST);
        } else if (backplane == null) {
            rooms.get(room).deliver(message, place);
        } else {
            backplane.publish(room, message, taken -> published(place, taken));
        }
    }

    private void published(long place, boolean taken) {
        counters.count(taken ? Name.PUBLISHED : Name.UNPUBLISHED);
        if (taken) trace.hop(place, PUBLISHED);
    }

    /** A message came from the backplane. */
    void returned(String name, Message message) {
        counters.count(Name.RETURNED);
        long place = trace.message(message, RETURNED);
        Room room = rooms.get(name);
        if (room != null) room.deliver(message, place);
    }
}

package genkai;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/** The application of the server comparison, whatever server it runs on: see apps/README.md. */
public final class Application implements Place {
    /** Largest message that is sent, bytes. */
    private static final int LARGEST = 64 * 1024 * 1024;

    private final Set<Client> clients = ConcurrentHashMap.newKeySet();
    private final LongAdder count = new LongAdder();
    private final LongAdder sum = new LongAdder();
    private final LongAccumulator longest = new LongAccumulator(Math::max, 0);
    /** What was given last, kept so that making it is no part of what is measured. */
    private volatile String text = "";
    private volatile byte[] data = {};

    @Override
    public void joined(Client client) {
        clients.add(client);
    }

    @Override
    public void left(Client client) {
        clients.remove(client);
    }

    @Override
    public void heard(Client client, String message) {
        long now = System.nanoTime();
        if (message.startsWith("take ")) {
            client.say("took " + message.length());
            client.flush();
            return;
        }
        String[] words = message.split(" ", 4);
        switch (words[0]) {
            case "stamp" -> received(now - Long.parseLong(words[1]));
            case "broadcast" -> broadcast(size(words[1]));
            case "give" -> give(client, words[1].equals("binary"), size(words[2]));
            case "report" -> client.say(report());
            case "clear" -> {
                count.reset();
                sum.reset();
                longest.reset();
                client.say("cleared");
            }
            default -> client.say("what?");
        }
        client.flush();
    }

    @Override
    public void heard(Client client, ByteBuffer message) {
        client.say("took " + message.remaining());
        client.flush();
    }

    private void received(long delay) {
        count.increment();
        sum.add(delay);
        longest.accumulate(delay);
    }

    private void broadcast(int size) {
        String padding = ".".repeat(size);
        String message = "broadcast " + System.nanoTime() + " ";
        message += padding.substring(Math.min(size, message.length()));
        for (Client client : clients) {
            client.say(message);
            client.flush();
        }
    }

    private void give(Client client, boolean binary, int size) {
        if (binary) {
            byte[] payload = data.length == size ? data : new byte[size];
            Arrays.fill(payload, (byte) '.');
            data = payload;
            client.say("giving " + System.nanoTime());
            client.say(ByteBuffer.wrap(payload));
        } else {
            String payload = text.length() == size ? text : ".".repeat(size);
            text = payload;
            client.say("giving " + System.nanoTime());
            client.say(payload);
        }
    }

    private String report() {
        Runtime runtime = Runtime.getRuntime();
        long heap = runtime.totalMemory() - runtime.freeMemory();
        return "report " + count.sum() + " " + sum.sum() + " " + longest.get() + " " + heap;
    }

    private static int size(String word) {
        return Math.min(LARGEST, Integer.parseInt(word));
    }
}

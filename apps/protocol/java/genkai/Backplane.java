package genkai;

import genkai.Counters.Name;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.event.connection.DisconnectedEvent;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Rooms shared with other nodes over Redis: what members say is published, a channel a room, and what comes back is passed on. What
 * cannot be given to Redis is lost and counted, never repeated.
 */
final class Backplane {
    private static final String PREFIX = "genkai:rooms:";
    private static final RedisCodec<String, byte[]> CODEC = RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE);
    /** Longest wait for an answer of Redis. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final RedisClient client;
    private final RedisAsyncCommands<String, byte[]> out;
    private final StatefulRedisPubSubConnection<String, byte[]> in;
    /** Members of each room, those on their way in too. */
    private final Map<String, Integer> rooms = new ConcurrentHashMap<>();

    private Backplane(RedisClient redis, Node node) {
        client = redis;
        ClientOptions.Builder options = ClientOptions.builder().disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS);
        // Nobody knows which of those that were cut off arrived.
        client.setOptions(options.replayFilter(command -> true).build());
        out = client.connect(CODEC).async();
        // Subscriptions are made again by themselves.
        client.setOptions(ClientOptions.create());
        in = client.connectPubSub(CODEC);
        in.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, byte[] message) {
                node.returned(channel.substring(PREFIX.length()), Message.unpacked(message));
            }
        });
        client.getResources().eventBus().get().subscribe(event -> {
            if (event instanceof DisconnectedEvent) node.counters.count(Name.BACKPLANE_LOST);
        });
    }

    static Backplane connect(String url, Node node) {
        RedisURI uri = RedisURI.create(url);
        uri.setTimeout(PATIENCE);
        try {
            return new Backplane(RedisClient.create(uri), node);
        } catch (RedisException e) {
            System.err.println("no Redis at " + uri.getHost() + ":" + uri.getPort() + ": " + e.getMessage());
            Runtime.getRuntime().halt(1);
            throw e;
        }
    }

    void close() {
        client.shutdownAsync();
    }

    /** Returns when messages of `room` will be heard. */
    void enter(String room) {
        rooms.merge(room, 1, Integer::sum);
        // Commands are answered in order: those who come while it is not answered wait for it, too.
        in.async().subscribe(PREFIX + room).toCompletableFuture().orTimeout(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).join();
    }

    /** Somebody who entered is gone. */
    void leave(String room) {
        rooms.compute(room, (name, members) -> {
            if (members > 1) return members - 1;
            in.async().unsubscribe(PREFIX + room);
            return null;
        });
    }

    /** `told` gets whether Redis took it. */
    void publish(String room, Message message, Consumer<Boolean> told) {
        out.publish(PREFIX + room, message.packed()).whenComplete((receivers, error) -> told.accept(error == null));
    }
}

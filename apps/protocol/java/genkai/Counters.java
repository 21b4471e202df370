package genkai;

import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a node of chat rooms counts, by the names of the protocol (apps/README.md). */
final class Counters {
    enum Name {
        JOINED, LEFT, SLOW, RECEIVED, LOST_INSIDE, PUBLISHED, UNPUBLISHED, RETURNED, BACKPLANE_LOST, QUEUED, WRITTEN,
        DROPPED_SLOW, DROPPED_GONE
    }

    private final LongAdder[] counts = Stream.generate(LongAdder::new).limit(Name.values().length).toArray(LongAdder[]::new);

    void count(Name name) {
        counts[name.ordinal()].increment();
    }

    /** A line of JSON. */
    String line() {
        return Stream.of(Name.values())
            .map(name -> "\"" + name.name().toLowerCase(Locale.ROOT) + "\":" + counts[name.ordinal()].sum())
            .collect(Collectors.joining(",", "{", "}"));
    }
}

package genkai;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** A chat room: whatever a member says goes to all members, the sender too. */
public final class Room implements Place {
    private static final Map<String, Room> ROOMS = new ConcurrentHashMap<>();

    private final Set<Client> members = ConcurrentHashMap.newKeySet();

    /** The room of this name; it stays when nobody is in it any more. */
    public static Room called(String name) {
        return ROOMS.computeIfAbsent(name, unused -> new Room());
    }

    @Override
    public void joined(Client client) {
        members.add(client);
    }

    @Override
    public void left(Client client) {
        members.remove(client);
    }

    @Override
    public void heard(Client client, String message) {
        all(member -> member.say(message));
    }

    @Override
    public void heard(Client client, ByteBuffer message) {
        all(member -> member.say(message.duplicate()));
    }

    private void all(Consumer<Client> say) {
        for (Client member : members) {
            say.accept(member);
            member.flush();
        }
    }
}

package genkai;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A chat room: whatever a member says goes to all members, the sender too. It stays when nobody is in it any more. */
final class Room {
    private final Set<Member> members = ConcurrentHashMap.newKeySet();

    Member enter(Member member) {
        members.add(member);
        return member;
    }

    void leave(Member member) {
        members.remove(member);
    }

    void deliver(Message message, long place) {
        for (Member member : members) member.offer(message, place);
    }
}

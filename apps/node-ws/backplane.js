// Rooms shared with other nodes over Redis: what members say is published, a channel a room, and what comes back is passed on.
// What cannot be given to Redis is lost and counted, never repeated.
import { Redis } from 'ioredis';

const PREFIX = 'genkai:rooms:';
/** Pause before connecting again, ms, and what it grows to. */
const pause = (attempt) => Math.min(50 * 2 ** (attempt - 1), 1000);

export class Backplane {
  /** Members of each room, those on their way in too. */
  #rooms = new Map();

  /**
   * @param {string} url of Redis
   * @param {import('../protocol/node/node.js').Node} node
   * @param {(room: string, message: Buffer, binary: boolean) => void} heard gets what comes from Redis
   */
  constructor(url, node, heard) {
    this.node = node;
    const options = { lazyConnect: true, retryStrategy: pause };
    this.out = new Redis(url, { ...options, enableOfflineQueue: false, autoResendUnfulfilledCommands: false });
    this.in = new Redis(url, options);
    for (const client of [this.out, this.in]) {
      // Each end of a connection is told by `close`.
      client.on('error', () => {});
      client.on('ready', () => client.once('close', () => (node.counts.backplane_lost += 1)));
    }
    this.in.on('messageBuffer', (channel, payload) => {
      heard(channel.toString().slice(PREFIX.length), payload.subarray(1), payload[0] === 0x62);
    });
  }

  /** Fails when there is no Redis. */
  async connect() {
    await Promise.all([this.out.connect(), this.in.connect()]);
  }

  /** Returns when messages of `room` will be heard. */
  async enter(room) {
    const members = this.#rooms.get(room) ?? 0;
    this.#rooms.set(room, members + 1);
    // Those who come while it is not answered wait for it, too: commands are answered in order.
    await this.in.subscribe(PREFIX + room);
  }

  /** Somebody who entered is gone. */
  leave(room) {
    const members = this.#rooms.get(room) - 1;
    if (members > 0) {
      this.#rooms.set(room, members);
    } else {
      this.#rooms.delete(room);
      this.in.unsubscribe(PREFIX + room).catch(() => {});
    }
  }

  publish(room, message, binary, place) {
    const payload = Buffer.concat([Buffer.from(binary ? 'b' : 't'), message]);
    const told = (taken) => this.node.published(place, taken);
    this.out.publish(PREFIX + room, payload).then(
      () => told(true),
      () => told(false),
    );
  }
}

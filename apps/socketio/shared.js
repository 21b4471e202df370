// Rooms shared with other nodes over Redis by Socket.IO's own adapter: a message goes to the members of this node at once, and to
// those of the others over Redis. What cannot be given to Redis is lost for the others and counted, never repeated.
import { RedisAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';

/** Pause before connecting again, ms, and what it grows to. */
const pause = (attempt) => Math.min(50 * 2 ** (attempt - 1), 1000);

function client(url, node, options) {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: pause, ...options });
  // Each end of a connection is told by `close`.
  redis.on('error', () => {});
  redis.on('ready', () => redis.once('close', () => (node.counts.backplane_lost += 1)));
  // Each namespace adds its own.
  redis.setMaxListeners(0);
  return redis;
}

/**
 * Connects to Redis; fails when there is none.
 * @param {string} url
 * @param {import('./deliveries.js').Deliveries} deliveries
 * @returns {Promise<(namespace: import('socket.io').Namespace) => RedisAdapter>} makes adapters
 */
export async function shared(url, deliveries) {
  const { node } = deliveries;
  const out = client(url, node, { enableOfflineQueue: false, autoResendUnfulfilledCommands: false });
  const back = client(url, node, {});
  await Promise.all([out.connect(), back.connect()]);

  // The adapter does not look at what becomes of what it publishes.
  const publish = out.publish.bind(out);
  out.publish = (channel, message) => {
    const { place } = deliveries;
    const told = (taken) => node.published(place, taken);
    return publish(channel, message).then(
      () => told(true),
      () => told(false),
    );
  };

  return class extends RedisAdapter {
    constructor(namespace) {
      super(namespace, out, back);
      // Commands are answered in order: those that subscribe have been by then.
      this.heard = back.subscribe(this.requestChannel);
    }

    onmessage(pattern, channel, message) {
      if (!channel.toString().startsWith(this.channel)) return;
      const [from, packet] = this.parser.decode(message);
      if (from === this.uid) return;
      deliveries.during(node.returned(packet.data[1]), () => super.onmessage(pattern, channel, message));
    }
  };
}

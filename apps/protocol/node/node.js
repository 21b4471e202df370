// A node of chat rooms, whatever server it runs on: what it counts, what it tells, and the flags for it. See apps/README.md.
import { Readable } from 'node:stream';
import { Trace } from './trace.js';

/** What happened to a message: the bits of HOPS in a trace. */
export const RECEIVED = 1;
export const PUBLISHED = 2;
export const RETURNED = 4;
const LOST = 8;
/** Passed on to the members of this node without the backplane. */
export const PASSED = 16;

/** Code and reason with which a slow member is disconnected (RFC 6455 section 7.4.1: a policy of the endpoint). */
export const SLOW = [1008, 'too slow: the queue of this member is full'];
/** How long it has to take the close frame, ms. */
export const LAST_WORDS = 1000;

/** Flags of a node, for `parseArgs`. */
export const flags = {
  address: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '0' },
  redis: { type: 'string' },
  'member-queue': { type: 'string', default: String(1024 * 1024) },
  trace: { type: 'string', default: '0' },
  'lose-every': { type: 'string' },
  stats: { type: 'string' },
};

/** The number that a client says it has: `?member=17`. */
export function memberOf(query) {
  const number = Number.parseInt(new URLSearchParams(query).get('member') ?? '', 10);
  return Number.isInteger(number) && number >= 0 ? number : undefined;
}

/** The books of a node. */
export class Node {
  counts = {
    joined: 0,
    left: 0,
    slow: 0,
    received: 0,
    lost_inside: 0,
    published: 0,
    unpublished: 0,
    returned: 0,
    backplane_lost: 0,
    queued: 0,
    written: 0,
    dropped_slow: 0,
    dropped_gone: 0,
  };

  /** @param {Record<string, string | undefined>} values of {@link flags} */
  constructor(values) {
    this.trace = new Trace(Number(values.trace));
    this.memberQueue = Number(values['member-queue']);
    this.loseEvery = Number(values['lose-every'] ?? 0);
    this.stats = Number.parseInt(values.stats ?? '0', 10);
  }

  /** Says where it listens, and from then on its counts, where that is wanted. */
  announce(address, version) {
    console.log(JSON.stringify({ listening: `${address.address}:${address.port}`, version }));
    if (this.stats > 0) setInterval(() => console.log(JSON.stringify(this.counts)), this.stats).unref();
  }

  /** Answers plain HTTP. */
  answer(request, response) {
    switch (request.url) {
      case '/counters':
        response.end(`${JSON.stringify(this.counts)}\n`);
        break;
      case '/trace':
        Readable.from(this.trace.text()).pipe(response);
        break;
      default:
        response.writeHead(426, { Connection: 'close' }).end('rooms are at /rooms/NAME; see also /app, /counters and /trace\n');
    }
  }

  /**
   * A member sent a message.
   * @returns {{lost: boolean, place: number | undefined}}
   */
  received(message) {
    this.counts.received += 1;
    const place = this.trace.message(message, RECEIVED);
    const lost = this.loseEvery > 0 && this.counts.received % this.loseEvery === 0;
    if (lost) {
      this.counts.lost_inside += 1;
      this.trace.hop(place, LOST);
    }
    return { lost, place };
  }

  /** The backplane has taken a message, or not. */
  published(place, taken) {
    this.counts[taken ? 'published' : 'unpublished'] += 1;
    if (taken) this.trace.hop(place, PUBLISHED);
  }

  /** A message came from the backplane; its place. */
  returned(message) {
    this.counts.returned += 1;
    return this.trace.message(message, RETURNED);
  }
}

/** One member, and what becomes of what is for it. */
export class Member {
  #present = true;
  #slow = false;

  /**
   * @param {Node} node
   * @param {number | undefined} number who it says it is
   */
  constructor(node, number) {
    [this.node, this.number] = [node, number];
    node.counts.joined += 1;
    node.trace.joined(number);
  }

  get isSlow() {
    return this.#slow;
  }

  /** A message is queued for it. */
  queued(place) {
    this.node.counts.queued += 1;
    this.node.trace.queued(place);
  }

  /** The kernel took that message. */
  written(place) {
    this.node.counts.written += 1;
    this.node.trace.written(place);
  }

  /** It will not get that message. */
  dropped(place) {
    this.node.counts[this.#slow ? 'dropped_slow' : 'dropped_gone'] += 1;
    this.node.trace.dropped(place, this.number, this.#slow ? 'slow' : 'gone');
  }

  /** It is to be disconnected for being slow. */
  tooSlow() {
    this.#slow = true;
    this.node.counts.slow += 1;
    this.left();
  }

  /** It is not in its room any more. */
  left() {
    if (!this.#present) return;
    this.#present = false;
    this.node.counts.left += 1;
    this.node.trace.left(this.number);
  }
}

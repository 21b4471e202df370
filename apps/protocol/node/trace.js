// What became of each of the last messages in this node, for who asks afterwards. Its text is described in apps/README.md.
import { LENGTH, identity } from './identity.js';

/** Members, and lost deliveries, that are kept. */
const MEMBERS = 2 ** 20;
const DROPS = 2 ** 18;
/** Lines written at once. */
const LINES = 4096;

/** Microseconds of CLOCK_MONOTONIC. */
const micros = () => Number(process.hrtime.bigint() / 1000n);

/** A ring of messages. A place is the number of a message among all that were seen. */
export class Trace {
  #next = 0;
  #drops = [];
  #dropped = 0;
  #members = [];
  #gone = [];

  /** @param {number} capacity messages kept; 0: none */
  constructor(capacity) {
    this.capacity = capacity;
    this.senders = new Uint32Array(capacity);
    this.sequences = new Float64Array(capacity);
    this.hops = new Uint8Array(capacity);
    this.queuedFor = new Uint32Array(capacity);
    this.writtenTo = new Uint32Array(capacity);
    this.micros = new Float64Array(capacity);
  }

  /**
   * A message was seen.
   * @param {string | Buffer} message
   * @param {number} hops
   * @returns {number | undefined} its place, if it is traced
   */
  message(message, hops) {
    if (this.capacity === 0) return undefined;
    const who = identity(typeof message === 'string' ? message : message.latin1Slice(0, LENGTH));
    if (who === undefined) return undefined;
    const at = this.#next % this.capacity;
    [this.senders[at], this.sequences[at], this.hops[at]] = [who.sender, who.sequence, hops];
    [this.queuedFor[at], this.writtenTo[at], this.micros[at]] = [0, 0, micros()];
    this.#next += 1;
    return this.#next - 1;
  }

  #at(place) {
    return place !== undefined && this.#next - place <= this.capacity ? place % this.capacity : undefined;
  }

  /** What else happened to it. */
  hop(place, hop) {
    const at = this.#at(place);
    if (at !== undefined) this.hops[at] |= hop;
  }

  /** It was queued for one more member. */
  queued(place) {
    const at = this.#at(place);
    if (at !== undefined) this.queuedFor[at] += 1;
  }

  /** One more of them has it. */
  written(place) {
    const at = this.#at(place);
    if (at !== undefined) this.writtenTo[at] += 1;
  }

  /** One of them will not get it. */
  dropped(place, member, why) {
    const at = this.#at(place);
    if (at === undefined) return;
    if (this.#drops.length < DROPS) {
      this.#drops.push(`d ${member ?? '-'} ${this.senders[at]} ${this.sequences[at]} ${why} ${micros()}`);
    }
    this.#dropped += 1;
  }

  joined(member) {
    if (this.capacity > 0 && member !== undefined && this.#members.length < MEMBERS) this.#members.push(`j ${member}`);
  }

  left(member) {
    if (this.capacity > 0 && member !== undefined && this.#gone.length < MEMBERS) this.#gone.push(`l ${member} ${micros()}`);
  }

  *#lines() {
    const kept = Math.min(this.#next, this.capacity);
    for (let place = this.#next - kept; place < this.#next; place += 1) {
      const at = place % this.capacity;
      const counts = `${this.hops[at]} ${this.queuedFor[at]} ${this.writtenTo[at]}`;
      yield `m ${this.senders[at]} ${this.sequences[at]} ${counts} ${this.micros[at]}`;
    }
    yield* this.#drops;
    yield* this.#members;
    yield* this.#gone;
    yield `end ${this.#next} ${kept} ${this.#dropped} ${this.#drops.length}`;
  }

  /** The text, in parts. */
  *text() {
    let lines = [];
    for (const line of this.#lines()) {
      if (lines.push(line) === LINES) {
        yield `${lines.join('\n')}\n`;
        lines = [];
      }
    }
    yield `${lines.join('\n')}\n`;
  }
}

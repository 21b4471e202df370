// What becomes of each message on its way to a client: Engine.IO keeps packets until the socket has taken those before, and tells
// when it did.
import { LAST_WORDS, SLOW } from '../protocol/node/node.js';

export class Deliveries {
  /** The place of the message that is being passed on; nothing: none is. */
  #passing = undefined;

  /** @param {import('../protocol/node/node.js').Node} node */
  constructor(node) {
    this.node = node;
  }

  /** The place, in the trace, of the message that is being passed on. */
  get place() {
    return this.#passing?.place;
  }

  /** Passes a message on: packets that are made by `pass` are this message. */
  during(place, pass) {
    this.#passing = { place };
    pass();
    this.#passing = undefined;
  }

  /**
   * Follows the packets of a client's connection.
   * @param {import('engine.io').Socket} connection
   * @param {import('../protocol/node/node.js').Member} member
   */
  follow(connection, member) {
    /** What is not written: messages with their places, and other packets. Those of the first `batches[0]` are in the socket. */
    const waiting = [];
    const batches = [];
    let [bytes, flushed] = [0, 0];

    connection.on('packetCreate', ({ data }) => {
      const size = data?.length ?? 0;
      const message = this.#passing;
      if (message) member.queued(message.place);
      if (message && bytes > 0 && bytes + size > this.node.memberQueue && !member.isSlow) {
        member.tooSlow();
        const socket = connection.transport.socket;
        socket.close(...SLOW);
        setTimeout(() => socket.terminate(), LAST_WORDS).unref();
      }
      bytes += size;
      waiting.push({ message, size });
    });
    connection.on('flush', (packets) => {
      // Those from before the connection was followed are not in the list.
      batches.push(Math.min(packets.length, waiting.length - flushed));
      flushed += batches.at(-1);
    });
    connection.transport.on('drain', () => {
      const count = batches.shift() ?? 0;
      flushed -= count;
      for (const { message, size } of waiting.splice(0, count)) {
        bytes -= size;
        if (message) member.written(message.place);
      }
    });
    connection.on('close', () => {
      for (const { message } of waiting.splice(0)) if (message) member.dropped(message.place);
      member.left();
    });
  }
}

// The application of the server comparison, whatever server it runs on: see apps/README.md.

/** Largest message that is sent, bytes. */
const LARGEST = 64 * 1024 * 1024;

const now = () => process.hrtime.bigint();
const size = (word) => Math.min(LARGEST, Number(word));

/**
 * What the server does with a message of a client.
 * @param {(message: string) => void} everybody sends a text to all clients
 * @returns {(message: string | Buffer, say: (message: string | Buffer) => void) => void} `say` answers the client
 */
export function application(everybody) {
  let [count, sum, longest] = [0, 0n, 0n];
  // What was given last, kept so that making it is no part of what is measured.
  let [text, data] = ['', Buffer.alloc(0)];

  const give = (kind, bytes, say) => {
    if (kind === 'binary') {
      if (data.length !== bytes) data = Buffer.alloc(bytes, '.');
    } else if (text.length !== bytes) {
      text = '.'.repeat(bytes);
    }
    const payload = kind === 'binary' ? data : text;
    say(`giving ${now()}`);
    say(payload);
  };

  const broadcast = (bytes) => {
    const padding = '.'.repeat(bytes);
    const head = `broadcast ${now()} `;
    everybody(head + padding.slice(head.length));
  };

  return (message, say) => {
    const received = now();
    if (typeof message !== 'string' || message.startsWith('take ')) {
      say(`took ${message.length}`);
      return;
    }
    const [command, first, second] = message.split(' ', 3);
    switch (command) {
      case 'stamp': {
        const delay = received - BigInt(first);
        count += 1;
        sum += delay;
        if (delay > longest) longest = delay;
        break;
      }
      case 'broadcast':
        broadcast(size(first));
        break;
      case 'give':
        give(first, size(second), say);
        break;
      case 'report':
        say(`report ${count} ${sum} ${longest} ${process.memoryUsage().heapUsed}`);
        break;
      case 'clear':
        [count, sum, longest] = [0, 0n, 0n];
        say('cleared');
        break;
      default:
        say('what?');
    }
  };
}

// Who a message of a load is: its first 24 characters, six bits each from `0` (0x30) to `o` (0x6f), the lowest first. Sender (5),
// number (8), planned instant (9), and a check (2): the upper twelve bits of FNV-1a over the others. See apps/README.md.

/** Characters of an identity. */
export const LENGTH = 24;
const CHECKED = 22;

function number(text, from, to) {
  let value = 0;
  for (let at = to - 1; at >= from; at -= 1) {
    const six = text.charCodeAt(at) - 0x30;
    if (!(six >= 0 && six < 64)) return undefined;
    value = value * 64 + six;
  }
  return value;
}

function check(text) {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < CHECKED; at += 1) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
  }
  return Number(hash >> 52n);
}

/**
 * @param {string} text how a message begins
 * @returns {{sender: number, sequence: number} | undefined} nothing for what is no message of a load
 */
export function identity(text) {
  if (text.length < LENGTH || number(text, CHECKED, LENGTH) !== check(text)) return undefined;
  return { sender: number(text, 0, 5), sequence: number(text, 5, 13) };
}

/** Bytes that a page holds as letters: see `extensions/serve/text_bytes.py`. */

const [BITS, LETTERS, FIRST, LEFT_OUT] = [13, 93, 33, 60]; // in two letters; of them; codes

/** The bytes of a text that says how many they are, and then has two letters for each 13 bits. */
export function readLetters(text: string): Uint8Array<ArrayBuffer> {
  const begin = text.indexOf(" ") + 1;
  const bytes = new Uint8Array(Number(text.slice(0, begin)));
  let [bits, count, written] = [0, 0, 0];
  for (let place = begin; place < text.length; place += 2) {
    bits |= (read(text, place) * LETTERS + read(text, place + 1)) << count;
    for (count += BITS; count >= 8; count -= 8) {
      bytes[written++] = bits;
      bits >>= 8;
    }
  }
  return bytes;
}

function read(text: string, place: number): number {
  const code = text.charCodeAt(place);
  return code - FIRST - (code > LEFT_OUT ? 1 : 0);
}

import { BodyPieces } from '#contract/wire/body-pieces.ts'

/**
 * Error codes of connections that were never established, so that no byte of a request was sent. TLS has its own codes.
 */
export const unreachable: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Reads all bytes of a body; null if there are more than `mostBytes`, and then leaves the rest unread. `arrived` is
 * called with each piece, and may throw to refuse it.
 */
export async function bytesWithin(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mostBytes: number,
  arrived: (bytes: number) => void = () => undefined,
): Promise<Buffer | null> {
  const pieces = new BodyPieces()
  for await (const piece of body) {
    if (pieces.bytes + piece.byteLength > mostBytes) return null
    arrived(piece.byteLength)
    pieces.add(piece)
  }
  return pieces.whole()
}

/** Codes of connections that never came about, so that no byte of a request has left. TLS has codes of its own. */
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
 * All bytes of a body; null where there are more than `mostBytes`, and then the rest is left unread. `arrived` is told of
 * each piece, and may throw to refuse it.
 */
export async function bytesWithin(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  arrived: (bytes: number) => void = () => undefined,
): Promise<Buffer | null> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.byteLength
    if (bytes > mostBytes) return null
    arrived(piece.byteLength)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

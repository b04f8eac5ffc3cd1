import { tellingItsEnd } from './ended-body.ts'
import type { WireResponse } from './wire.ts'

/**
 * The same response, whose reader's bytes are told once when it has read them all; null where it did not, or where they are
 * more than `mostBytes`.
 */
export function copiedBody(
  response: WireResponse,
  mostBytes: number,
  tell: (body: Uint8Array | null) => void,
): WireResponse {
  let pieces: Uint8Array[] | null = []
  let size = 0
  let isWhole = false
  let isTold = false
  const take = (piece: Uint8Array) => {
    size += piece.byteLength
    if (size > mostBytes) pieces = null
    pieces?.push(piece)
  }
  const ended = () => {
    if (isTold) return
    isTold = true
    tell(isWhole && pieces ? Buffer.concat(pieces) : null)
  }
  const body = {
    [Symbol.asyncIterator]() {
      const read = response.body[Symbol.asyncIterator]()
      return {
        async next() {
          const piece = await read.next()
          if (piece.done) isWhole = true
          else take(piece.value)
          return piece
        },
        return: async (value?: unknown) => (await read.return?.(value)) ?? { done: true as const, value: undefined },
      }
    },
  }
  return tellingItsEnd({ ...response, body }, ended)
}

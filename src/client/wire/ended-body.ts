import type { WireResponse } from './wire.ts'

/** The same response, which tells once when its body has been read, has failed or is thrown away. */
export function tellingItsEnd(response: WireResponse, ended: () => void): WireResponse {
  return {
    ...response,
    body: tellingEnd(response.body, ended),
    discard() {
      ended()
      response.discard()
    },
  }
}

// No generator: one that is left before its first step would never come to its `finally`.
const tellingEnd = (body: AsyncIterable<Uint8Array>, ended: () => void): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]() {
    const pieces = body[Symbol.asyncIterator]()
    return {
      async next() {
        try {
          const piece = await pieces.next()
          if (piece.done) ended()
          return piece
        } catch (error) {
          ended()
          throw error
        }
      },
      async return(value?: unknown) {
        ended()
        return (await pieces.return?.(value)) ?? { done: true, value: undefined }
      },
    }
  },
})

import type { IncomingMessage } from 'node:http'

/** All bytes of a body; null where there are more than `limit`. Rejects where its caller breaks off. */
export const wholeBody = (incoming: IncomingMessage | null, request: Request, limit: number) =>
  incoming ? ofMessage(incoming, limit) : ofRequest(request, limit)

/** By its events: an async iterator of a message takes some 15 µs more, and ends its connection where one stops early. */
function ofMessage(incoming: IncomingMessage, limit: number): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer) => {
      length += chunk.byteLength
      if (length <= limit) chunks.push(chunk)
      else end(() => resolve(null))
    }
    const onEnd = () => end(() => resolve(Buffer.concat(chunks)))
    const onBreak = () => end(() => reject(new Error('The caller left before the end of the body.')))
    function end(settle: () => void): void {
      incoming.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak)
      settle()
    }
    if (incoming.destroyed) return onBreak()
    incoming.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak)
  })
}

async function ofRequest({ body }: Request, limit: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > limit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

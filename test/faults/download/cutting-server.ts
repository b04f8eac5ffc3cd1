import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { lineBytesASecond, linePauseMs } from '../bounds.ts'
import { blockBytes, blockOf } from './content.ts'

export interface CuttingServer {
  url: string
  origin: string
  /** What the system has taken to be sent, in bytes: never less than what has gone over the wire. */
  sentBytes(): number
  cuts(): number
  /** Where each request began. */
  starts(): readonly number[]
  close(): Promise<void>
}

/** Where the bytes of one file are sent, and what happens when they come to a place. */
export interface Places {
  /** Each breaks off the connection that comes to it first. */
  cuts: readonly number[]
  /** Called once for each, by whatever connection. */
  kills: readonly number[]
  onKill(): void
}

/** Answers a little, uncounted, to warm up the client. */
export const idlePath = '/idle'

/** Serves one file with a strong tag, in ranges, and breaks off where it is told. */
export async function cuttingServer(totalBytes: number, places: Places): Promise<CuttingServer> {
  const etag = `"${createHash('sha256').update(`${totalBytes}`).digest('hex').slice(0, 16)}"`
  const cuts = [...places.cuts].sort((one, other) => one - other)
  const kills = [...places.kills].sort((one, other) => one - other)
  const starts: number[] = []
  let sentBytes = 0
  let cutCount = 0

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const isPart = request.headers['if-range'] === etag
    const start = isPart ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0
    starts.push(start)
    response.writeHead(isPart ? 206 : 200, {
      etag,
      'content-type': 'video/mp4',
      'content-length': `${totalBytes - start}`,
      ...(isPart ? { 'content-range': `bytes ${start}-${totalBytes - 1}/${totalBytes}` } : {}),
    })
    const line = lineFrom(start)
    for (let at = start; at < totalBytes; ) {
      const nextCut = cuts.find(cut => cut > at) ?? totalBytes
      const end = Math.min(totalBytes, nextCut, at - (at % blockBytes) + blockBytes)
      if (!(await isTaken(response, pieceOf(at, end)))) return
      sentBytes += end - at
      at = end
      await line(at)
      if (kills[0] !== undefined && at >= kills[0]) {
        kills.shift()
        places.onKill()
      }
      const cut = cuts.indexOf(at)
      if (cut >= 0) {
        cuts.splice(cut, 1)
        cutCount++
        return void response.socket?.end()
      }
    }
    response.end()
  }

  const server = createServer((request, response) => {
    if (request.url === idlePath) return void response.end(blockOf(0))
    void answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/video.mp4?signature=x`,
    sentBytes: () => sentBytes,
    cuts: () => cutCount,
    starts: () => starts,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A line that is slower than a disk: else what a kill loses is what the system keeps for a reader that cannot follow. */
function lineFrom(start: number): (at: number) => Promise<void> {
  const startedMs = performance.now()
  return async at => {
    const aheadMs = ((at - start) / lineBytesASecond) * 1000 - (performance.now() - startedMs)
    if (aheadMs > linePauseMs) await sleep(aheadMs)
  }
}

/** Bytes of the file from within one block. */
const pieceOf = (start: number, end: number): Uint8Array => {
  const from = start % blockBytes
  return blockOf(Math.floor(start / blockBytes)).subarray(from, from + end - start)
}

/** False where the reader has gone. */
const isTaken = (response: ServerResponse, piece: Uint8Array): Promise<boolean> =>
  new Promise(resolve => {
    if (response.destroyed) return resolve(false)
    const gone = () => resolve(false)
    response.once('close', gone)
    response.write(piece, error => {
      response.off('close', gone)
      resolve(!error)
    })
  })

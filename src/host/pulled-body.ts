import type { ServerResponse } from 'node:http'
import { minuteMs } from '#contract/time.ts'

/**
 * A reader that takes no data for this long counts as gone, although it is connected, because work and credit wait for
 * readers. Proxies and paused readers continue sooner.
 */
export const readerPatienceMs = 5 * minuteMs

/**
 * Sends a piece to its reader within the turn of the event loop in which the piece arrives. A piece that passes through
 * iterators instead costs several promises.
 */
export interface DirectReader<Piece> {
  /** False while the next piece must pass through the iterator, because only that can wait for the reader. */
  readonly isReady: boolean
  send(piece: Piece): void
}

/** A body that is produced as it is read. */
export interface PulledBody {
  /** Returns null after the last piece. */
  next(): Promise<Uint8Array | string | null>
  /** Accepts a reader to which pieces may be sent directly, but only while `next` is pending, so none is overtaken. */
  sendDirectlyTo?(reader: DirectReader<string>): void
  /** Returns a final piece, if any. */
  last?(): Uint8Array | null
  /** Called once: when all has been read, when the reader has left, even before the first read, or after an error. */
  end(delivered: boolean): Promise<void>
  /** Closes the connection; false if there is none, and an error of the body must show it. */
  cut?(): boolean
}

/**
 * Nothing happens before the first read: a HEAD request or a reader that has left opens no file. A generator would not
 * do, because a generator that was never started skips its `finally`. A reader that takes no data for
 * `readerPatienceMs` also counts as gone.
 */
export function pulledBody(source: PulledBody): ReadableStream<Uint8Array> {
  let ended = false
  let patience: NodeJS.Timeout | null = null
  const end = async (delivered: boolean) => {
    if (patience) clearTimeout(patience)
    if (ended) return
    ended = true
    await source.end(delivered)
  }
  // The server that writes the body would print its error, bypassing the log and revealing it in the answer.
  const fail = (controller: ReadableStreamDefaultController, error: unknown) =>
    source.cut?.() ? controller.close() : controller.error(error)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (patience) clearTimeout(patience)
        const giveUp = () => {
          fail(controller, new Error('The client read nothing for too long.'))
          // The producer of the pieces has reported the error.
          end(false).catch(() => undefined)
        }
        try {
          const piece = await source.next()
          if (piece) {
            controller.enqueue(typeof piece === 'string' ? Buffer.from(piece) : piece)
            if (!ended) patience = setTimeout(giveUp, readerPatienceMs).unref()
            return
          }
          const last = source.last?.()
          if (last) controller.enqueue(last)
          await end(true)
          controller.close()
        } catch (error) {
          // The error itself says more than a failure to end after it.
          await end(false).catch(() => undefined)
          fail(controller, error)
        }
      },
      cancel: () => end(false),
    },
    { highWaterMark: 0 },
  )
}

/** Writes a body to its socket as fast as its reader reads, without the cost of a web stream for each piece. */
export async function writePulled(outgoing: ServerResponse, source: PulledBody): Promise<void> {
  let ended = false
  const end = async (delivered: boolean) => {
    if (ended) return
    ended = true
    outgoing.off('close', left)
    await source.end(delivered)
  }
  // The producer of the pieces has reported the error.
  const left = () => void end(false).catch(() => undefined)
  if (outgoing.destroyed) return left()
  outgoing.on('close', left)
  source.sendDirectlyTo?.(directReaderOf(outgoing))
  try {
    // The headers are sent with the first piece.
    let write = writeThrough
    for (let piece = await source.next(); piece; piece = await source.next()) {
      if (ended) return
      if (!write(outgoing, piece)) await readerCatchesUp(outgoing)
      if (ended) return
      write = writeChunk
    }
    if (ended) return
    const last = source.last?.()
    if (last) outgoing.write(last)
    await end(true)
    outgoing.end()
  } catch {
    left()
    outgoing.destroy()
  }
}

/** Writes a piece; false if the reader should take some before the next. */
type Write = (outgoing: ServerResponse, piece: Uint8Array | string) => boolean

/**
 * Leaves nothing in the message, because a later piece may go to the socket directly: Node 26 would keep this one until
 * the next tick, and the later one would overtake it.
 */
const writeThrough: Write = (outgoing, piece) => {
  const { socket } = outgoing
  // It has no socket while an earlier answer of the same connection is being sent.
  if (!socket) return outgoing.write(piece)
  outgoing.cork()
  outgoing.write(piece)
  outgoing.uncork()
  return !socket.writableNeedDrain
}

/**
 * Node turns a chunk into four writes and gathers them until the next tick; one write of the whole chunk costs less.
 * The chunk is a string, because a buffer would be a slice of a 64 KB block, all of which a stalled reader would keep
 * in memory.
 */
const writeChunk: Write = (outgoing, piece) => {
  const { socket, chunkedEncoding } = outgoing
  if (!socket || !chunkedEncoding || typeof piece !== 'string') return writeThrough(outgoing, piece)
  const bytes = Buffer.byteLength(piece)
  return socket.write(`${bytes.toString(16)}\r\n${piece}\r\n`, bytes === piece.length ? 'latin1' : 'utf8')
}

/**
 * It is not ready before the headers are sent with a first piece, or while the socket is full. Pieces of one turn of
 * the event loop are gathered for one write, because no other step costs as much. The next piece from the iterator
 * cannot overtake them: its promises take more microtasks than the one that writes what was gathered.
 */
function directReaderOf(outgoing: ServerResponse): DirectReader<string> {
  let gathered = ''
  const write = () => {
    const pieces = gathered
    gathered = ''
    writeChunk(outgoing, pieces)
  }
  return {
    get isReady() {
      const { socket, chunkedEncoding, headersSent, destroyed } = outgoing
      if (!headersSent || !chunkedEncoding || destroyed || gathered.length > gatheredCharacters) return false
      return socket !== null && !socket.writableNeedDrain
    },
    send(piece) {
      if (gathered === '') queueMicrotask(write)
      gathered += piece
    },
  }
}

/** A fast engine sends up to 64 KB in one turn of the event loop; no more than this may wait outside the socket. */
const gatheredCharacters = 16 * 1024

/** Waits until the reader has taken the buffered data or has left. Rejects if it takes nothing for too long. */
function readerCatchesUp(outgoing: ServerResponse): Promise<void> {
  const { socket } = outgoing
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(reject), readerPatienceMs).unref()
    const goOn = () => end(resolve)
    function end(settle: () => void): void {
      clearTimeout(timer)
      socket?.off('drain', goOn)
      outgoing.off('drain', goOn).off('close', goOn)
      settle()
    }
    socket?.on('drain', goOn)
    outgoing.on('drain', goOn).on('close', goOn)
  })
}

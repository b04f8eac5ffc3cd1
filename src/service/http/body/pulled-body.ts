import { createReadStream } from 'node:fs'
import { readerPatienceMs } from '../bounds.ts'

/** A body that is made as it is read. */
interface PulledBody {
  /** Null after the last piece. */
  next(): Promise<Uint8Array | null>
  /** What goes out after the last piece, if anything. */
  last?(): Uint8Array | null
  /** Called once: when all has been read, when the reader has left, also before the first read, or after an error. */
  end(delivered: boolean): Promise<void>
  /** Breaks the connection off; false where there is none, and an error of the body has to tell. */
  cut?(): boolean
}

/**
 * Nothing happens before somebody reads: a HEAD or a reader that has left opens no file. A generator would not do, since
 * one that was never started skips its `finally`. Whoever takes nothing for `readerPatienceMs` has left as well.
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
  // An error of a body is printed by the server that writes it, past the log and into the answer.
  const fail = (controller: ReadableStreamDefaultController, error: unknown) =>
    source.cut?.() ? controller.close() : controller.error(error)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (patience) clearTimeout(patience)
        const giveUp = () => {
          fail(controller, new Error('The reader took nothing for too long.'))
          // What ends badly here has been told by whoever made the pieces.
          end(false).catch(() => undefined)
        }
        try {
          const piece = await source.next()
          if (piece) {
            controller.enqueue(piece)
            if (!ended) patience = setTimeout(giveUp, readerPatienceMs).unref()
            return
          }
          const last = source.last?.()
          if (last) controller.enqueue(last)
          await end(true)
          controller.close()
        } catch (error) {
          // The error itself says more than what ending after it may add.
          await end(false).catch(() => undefined)
          fail(controller, error)
        }
      },
      cancel: () => end(false),
    },
    { highWaterMark: 0 },
  )
}

/** A file, or the part of it from `start` to `end`, both included. */
export function fileBody(
  path: string,
  range: { start?: number; end?: number },
  { onEnd, cut }: { onEnd?: (delivered: boolean) => Promise<void>; cut?: () => boolean } = {},
): ReadableStream<Uint8Array> {
  let open: ReturnType<typeof createReadStream> | null = null
  let pieces: AsyncIterator<Buffer> | null = null
  return pulledBody({
    async next() {
      open ??= createReadStream(path, range)
      pieces ??= open[Symbol.asyncIterator]()
      const step = await pieces.next()
      return step.done ? null : step.value
    },
    async end(delivered) {
      open?.destroy()
      await onEnd?.(delivered)
    },
    ...(cut ? { cut } : {}),
  })
}

import { createReadStream } from 'node:fs'

/** A body that is made as it is read. */
export interface PulledBody {
  /** Null after the last piece. */
  next(): Promise<Uint8Array | null>
  /** Goes out after the last piece. */
  last?: Uint8Array
  /** Called once: when all has been read, when the reader has left, also before the first read, or after an error. */
  end(delivered: boolean): Promise<void>
}

/**
 * Nothing happens before somebody reads: a HEAD or a reader that has left opens no file. A generator would not do, since
 * one that was never started skips its `finally`.
 */
export function pulledBody(source: PulledBody): ReadableStream<Uint8Array> {
  let ended = false
  const end = async (delivered: boolean) => {
    if (ended) return
    ended = true
    await source.end(delivered)
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await source.next()
          if (piece) return controller.enqueue(piece)
          if (source.last) controller.enqueue(source.last)
          await end(true)
          controller.close()
        } catch (error) {
          await end(false)
          controller.error(error)
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
  onEnd?: (delivered: boolean) => Promise<void>,
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
  })
}

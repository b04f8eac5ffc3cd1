/** Real media files for tests, made by the packaged FFmpeg as the product makes its own: nothing on PATH is needed. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inFolder } from '#host/files.ts'
import { MediaWorkers } from '#host/media/media-workers.ts'
import type { AudioTrack, Options, Track, VideoTrack } from '#host/media/tasks.ts'

const workers = new MediaWorkers({ atOnce: 1, waiting: 100, timeoutMs: 120_000, memoryMb: 2_048 })

export interface Making {
  options?: Options
  /** Bytes that the tracks read as inputs 0, 1 …, each with its reader. */
  inputs?: readonly { bytes: Buffer; reader: string }[]
}

/** A file of these tracks, in a format by FFmpeg's name of its muxer. */
export const made = (
  format: string,
  tracks: readonly Track[],
  { options, inputs = [] }: Making = {},
): Promise<Buffer> =>
  inFolder('made', async folder => {
    const path = join(folder, 'made')
    const paths = inputs.map((_, index) => join(folder, `input-${index}`))
    for (const [index, at] of paths.entries()) await writeFile(at, inputs[index]?.bytes ?? '')
    const conversion = {
      inputs: inputs.map(({ reader }, index) => ({ path: paths[index] ?? '', reader })),
      tracks,
      to: { path, format, mostBytes: Number.POSITIVE_INFINITY, ...(options ? { options } : {}) },
      maxPixels: 2 ** 31 - 1,
    }
    await workers.turn(run => run('convert', conversion), new AbortController().signal)
    return readFile(path)
  })

type Drawn<T extends Track> = Partial<Omit<T, 'graph' | 'kind'>>

/** A video track that filters draw: H.264 unless another encoder is named. */
export const drawn = (graph: string, change: Drawn<VideoTrack> = {}): VideoTrack => ({
  ...{ kind: 'video', reads: [], graph, encoder: 'libx264', options: { preset: 'ultrafast' } },
  ...change,
})

/** An audio track that filters play: AAC at 8,000 a second unless others are named. */
export const played = (graph: string, change: Drawn<AudioTrack> = {}): AudioTrack => ({
  ...{ kind: 'audio', reads: [], graph, encoder: 'aac', rate: 8_000, channels: 1 },
  ...change,
})

/** The samples of a file, 16 bits and one channel at that rate. */
export const samplesOf = (bytes: Buffer, reader: string, rate: number): Promise<Buffer> =>
  made('s16le', [played('[in0]anull', { reads: [0], encoder: 'pcm_s16le', rate })], { inputs: [{ bytes, reader }] })

import type { FilterContext, FilterGraph, Frame, Stream } from 'node-av/lib'
import { AvError, type AvLibrary, type Step, stepOf, succeed } from './ffmpeg.ts'

/** The first frame of a graph's input, with its stream. */
export interface FirstFrame {
  frame: Frame
  stream: Stream
}

/** FFmpeg filters that take decoded frames, turned upright, and have one output. */
export class FilterChain {
  readonly #library: AvLibrary
  readonly #graph: FilterGraph
  readonly #sources: FilterContext[]
  readonly sink: FilterContext

  /** All frames must be like the first one of their input. Throws `AvError` if the filters do not fit. */
  constructor(library: AvLibrary, kind: 'video' | 'audio', text: string, firsts: readonly FirstFrame[]) {
    const { av } = library
    this.#library = library
    this.#graph = new av.FilterGraph()
    this.#graph.alloc()
    this.#graph.nbThreads = 1
    // Both ends are written into the text, because node-av 6.1.1 loses all but the first of a list of ends.
    const sources = firsts.map((first, index) => `${sourceOf(library, first, index)}[in${index}]`)
    const sink = kind === 'video' ? 'buffersink' : 'abuffersink'
    const whole = [...sources, `${text}[out]`, `[out]${sink}@out`].join(';')
    succeed(library, this.#graph.parse2(whole), 'reading the filters')
    succeed(library, this.#graph.configSync(), 'setting up the filters')
    const sourceName = kind === 'video' ? 'buffer' : 'abuffer'
    this.#sources = firsts.map((_, index) => this.#named(`${sourceName}@in${index}`))
    this.sink = this.#named(`${sink}@out`)
  }

  /** Adds the frame's content to an input. */
  give(index: number, frame: Frame): void {
    succeed(this.#library, this.#sources[index]?.buffersrcAddFrameSync(frame) ?? 0, 'filtering')
  }

  end(index: number): void {
    succeed(this.#library, this.#sources[index]?.buffersrcAddFrameSync(null) ?? 0, 'filtering')
  }

  take(frame: Frame): Step {
    return stepOf(this.#library, this.sink.buffersinkGetFrameSync(frame), 'filtering')
  }

  close(): void {
    this.#graph.free()
  }

  #named(name: string): FilterContext {
    const found = this.#graph.getFilter(name)
    if (!found) throw new AvError('filters', `no ${name}`)
    return found
  }
}

/** Describes an input in FFmpeg's filter syntax. */
function sourceOf(library: AvLibrary, { frame, stream }: FirstFrame, index: number): string {
  const { av, names } = library
  const time = `time_base=${stream.timeBase.num}/${stream.timeBase.den}`
  if (frame.isVideo()) {
    const { width, height, format, colorRange, colorSpace } = frame
    const size = `video_size=${width}x${height}:pix_fmt=${av.avGetPixFmtName(format as never)}`
    const source = `buffer@in${index}=${size}:${time}:colorspace=${colorSpace}:range=${colorRange}`
    const matrix = stream.codecpar.getCodedSideData(names.AV_PKT_DATA_DISPLAYMATRIX)
    return [source, ...(matrix ? turnOf(matrix) : [])].join(',')
  }
  const { mask, nbChannels } = frame.channelLayout
  const layout = mask === 0n ? `${nbChannels}c` : `0x${mask.toString(16)}`
  const samples = `sample_rate=${frame.sampleRate}:sample_fmt=${av.avGetSampleFmtName(frame.format as never)}`
  return `abuffer@in${index}=${time}:${samples}:channel_layout=${layout}`
}

/**
 * Returns the filters that turn frames upright, from the nine numbers of a display matrix; only quarter turns are used
 * in practice.
 */
function turnOf(matrix: Buffer): readonly string[] {
  const sign = (place: number) => Math.sign(matrix.readInt32LE(place * 4))
  return turns[[0, 1, 3, 4].map(sign).join(' ')] ?? []
}

/** Keyed by the signs of the four numbers that rotate and mirror. */
const turns: Readonly<Record<string, readonly string[]>> = {
  '0 1 -1 0': ['transpose=clock'],
  '0 -1 1 0': ['transpose=cclock'],
  '-1 0 0 -1': ['hflip', 'vflip'],
  '-1 0 0 1': ['hflip'],
  '1 0 0 -1': ['vflip'],
}

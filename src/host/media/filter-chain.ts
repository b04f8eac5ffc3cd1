import type { FilterContext, FilterGraph, Frame, Stream } from 'node-av/lib'
import { AvError, type AvLibrary, type Step, stepOf, succeed } from './av-library.ts'
import { turnOf } from './rotation.ts'

/** The first frame of an input of a graph, with the stream that it is of. */
export interface FirstFrame {
  frame: Frame
  stream: Stream
}

/** FFmpeg's filters between decoded frames, which they get upright, and one open end. */
export class FilterChain {
  readonly #library: AvLibrary
  readonly #graph: FilterGraph
  readonly #sources: FilterContext[]
  readonly sink: FilterContext

  /** Frames are like the first of each input. Throws `AvError` where filters do not fit. */
  constructor(library: AvLibrary, kind: 'video' | 'audio', text: string, firsts: readonly FirstFrame[]) {
    const { av } = library
    this.#library = library
    this.#graph = new av.FilterGraph()
    this.#graph.alloc()
    this.#graph.nbThreads = 1
    // Both ends stand in the text, because lists of ends lose all but their first (node-av 6.1.1).
    const sources = firsts.map((first, index) => `${sourceOf(library, first, index)}[in${index}]`)
    const sink = kind === 'video' ? 'buffersink' : 'abuffersink'
    const whole = [...sources, `${text}[out]`, `[out]${sink}@out`].join(';')
    succeed(library, this.#graph.parse2(whole), 'reading the filters')
    succeed(library, this.#graph.configSync(), 'setting up the filters')
    const sourceName = kind === 'video' ? 'buffer' : 'abuffer'
    this.#sources = firsts.map((_, index) => this.#named(`${sourceName}@in${index}`))
    this.sink = this.#named(`${sink}@out`)
  }

  /** Takes what is in the frame. */
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

/** The beginning of an input, in FFmpeg's words for filters. */
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

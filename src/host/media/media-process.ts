/**
 * A subprocess that reads, measures and writes media files, so that callers' files reach native code and third-party
 * parsers only here. It gets no settings, runs one task at a time, and is killed if it takes too long or too much
 * memory.
 */
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import type { CodecContext, Frame, Stream } from 'node-av/lib'
import { AvError, type AvLibrary, FfmpegMissing, loadAvLibrary } from './ffmpeg.ts'
import { Excessive, Unreadable } from './file-faults.ts'
import { FilterChain, type FirstFrame } from './filter-chain.ts'
import { type FrameTaker, OpenInput } from './open-input.ts'
import { audioEnding, OpenOutput, openEncoder } from './open-output.ts'
import { type TakeVideoTask, takeVideo } from './take-video.ts'
import type { Conversion, Converted, MediaAnswer, MediaRequest, MediaTasks, Track } from './tasks.ts'
import { checkWhole } from './whole/check-whole.ts'

/** Frames of a track that may wait for the first frame of another; a track that starts later counts as empty. */
const mostWaiting = 64

/** Reads, filters and encodes files, all on this thread. Throws `AvError` if a file cannot be read or written. */
function convert(library: AvLibrary, conversion: Conversion): Converted {
  const opened: { close(): void }[] = []
  const keep = <Thing extends { close(): void }>(thing: Thing): Thing => {
    opened.push(thing)
    return thing
  }
  try {
    const inputs = conversion.inputs.map(input => keep(new OpenInput(library, input)))
    const lines = conversion.tracks.flatMap(track => {
      const streams = track.reads.map(index => inputs[index]?.streamOf(track.kind) ?? null)
      if (streams.includes(null)) {
        if (track.isOptional) return []
        throw new AvError(track.kind, 'the file has none')
      }
      const line = keep(new Line(library, track))
      for (const [place, index] of track.reads.entries()) {
        const stream = streams[place]
        if (stream) inputs[index]?.decode(stream, line.taker(place), conversion)
      }
      return line
    })
    for (const input of inputs) input.discardOthers()
    return write(keep(new OpenOutput(library, conversion.to)), inputs, lines)
  } finally {
    for (const thing of opened.reverse()) thing.close()
  }
}

function write(output: OpenOutput, inputs: readonly OpenInput[], lines: readonly Line[]): Converted {
  const readOn = () => {
    for (const input of inputs) if (!input.isOver) input.readOn()
    return inputs.some(input => !input.isOver)
  }
  while (lines.some(line => !line.isReady)) if (!readOn()) break
  for (const line of lines) line.open(output)
  output.begin()
  let open = lines.filter(line => !line.isOver)
  while (open.length > 0 && !output.isFull) {
    const next = open.reduce((earliest, line) => (line.seconds < earliest.seconds ? line : earliest))
    if (next.writeOne(output) === 'hungry') readOn()
    open = open.filter(line => !line.isOver)
  }
  const isCutOff = open.length > 0
  for (const line of open) line.finish(output)
  output.end()
  const sum = (kind: Track['kind']) => lines.reduce((all, line) => all + (line.kind === kind ? line.count : 0), 0)
  return { frames: sum('video'), samples: sum('audio'), bytes: output.bytes, isCutOff }
}

/** Takes one track from decoded frames to the file: through its filter, its encoder and the muxer. */
class Line {
  readonly kind: Track['kind']
  readonly #library: AvLibrary
  readonly #track: Track
  readonly #frame: Frame
  /** Frames that arrived before the filters were set up, by input index. */
  readonly #waiting: { frame: Frame; stream: Stream }[][]
  readonly #ended: boolean[]
  #chain: FilterChain | null = null
  #encoder: CodecContext | null = null
  #stream: Stream | null = null
  count = 0
  /** The time up to which it was written. */
  seconds = 0
  isOver = false

  constructor(library: AvLibrary, track: Track) {
    this.kind = track.kind
    this.#library = library
    this.#track = track
    this.#waiting = track.reads.map(() => [])
    this.#ended = track.reads.map(() => false)
    this.#frame = new library.av.Frame()
    this.#frame.alloc()
  }

  taker(place: number): FrameTaker {
    return { take: (frame, stream) => this.#take(place, frame, stream), end: () => this.#end(place) }
  }

  /** Whether every input has delivered a frame, or there is nothing more to wait for. */
  get isReady(): boolean {
    return this.#waiting.every((frames, place) => frames.length > 0 || this.#ended[place])
  }

  /** Sets up filters and encoder. Throws `AvError` if an input had no frame. */
  open(output: OpenOutput): void {
    const firsts = this.#waiting.map(([first]) => first)
    if (firsts.includes(undefined)) {
      this.isOver = true
      if (this.#track.isOptional) return
      throw new AvError(this.kind, 'nothing in the file could be decoded')
    }
    this.#setUpFilters(firsts as FirstFrame[])
    const chain = this.#chain as unknown as FilterChain
    this.#encoder = openEncoder(this.#library, this.#track, chain.sink, output.wantsGlobalHeader)
    this.#stream = output.add(this.#encoder)
    for (const [place, frames] of this.#waiting.entries()) {
      for (const { frame } of frames.splice(0)) {
        chain.give(place, frame)
        frame.free()
      }
      if (this.#ended[place]) chain.end(place)
    }
  }

  writeOne(output: OpenOutput): 'done' | 'hungry' | 'ended' {
    const [chain, encoder, stream] = [this.#chain, this.#encoder, this.#stream]
    if (!chain || !encoder || !stream) return 'ended'
    const step = chain.take(this.#frame)
    if (step === 'ended') this.finish(output)
    if (step !== 'done') return step
    this.#stamp(this.#frame, encoder)
    output.write(encoder, stream, this.#frame)
    this.#frame.unref()
    return 'done'
  }

  /** Writes what the encoder has buffered. */
  finish(output: OpenOutput): void {
    this.isOver = true
    if (this.#encoder && this.#stream) output.write(this.#encoder, this.#stream, null)
  }

  close(): void {
    for (const frames of this.#waiting) for (const { frame } of frames) frame.free()
    this.#chain?.close()
    this.#encoder?.freeContext()
    this.#frame.free()
  }

  #setUpFilters(firsts: readonly FirstFrame[]): void {
    const track = this.#track
    const graph = track.kind === 'audio' ? `${track.graph},${audioEnding(this.#library, track)}` : track.graph
    this.#chain = new FilterChain(this.#library, track.kind, graph, firsts)
  }

  #take(place: number, frame: Frame, stream: Stream): void {
    if (this.isOver) return
    if (this.#chain) {
      this.#chain.give(place, frame)
      return
    }
    const kept = frame.clone()
    if (!kept) throw new AvError(this.kind, 'no memory')
    this.#waiting[place]?.push({ frame: kept, stream })
    if ((this.#waiting[place]?.length ?? 0) > mostWaiting) throw new AvError(this.kind, 'another track begins too late')
  }

  #end(place: number): void {
    this.#ended[place] = true
    if (!this.isOver) this.#chain?.end(place)
  }

  /** Times are derived from the sample count, so that they have no gaps and never go back. */
  #stamp(frame: Frame, encoder: CodecContext): void {
    if (this.#track.kind === 'audio') {
      frame.pts = BigInt(this.count)
      this.count += frame.nbSamples
      this.seconds = this.count / this.#track.rate
      return
    }
    // Lets the encoder choose keyframes itself.
    frame.pictType = 0 as typeof frame.pictType
    this.count++
    this.seconds = (Number(frame.pts) * encoder.timeBase.num) / encoder.timeBase.den
  }
}

const [mostMegabytes = ''] = process.argv.slice(2)
const watch = new URL(
  import.meta.url.endsWith('.ts') ? './memory-watch-thread.ts' : './memory-watch-thread.js',
  import.meta.url,
)
new Worker(watch, { workerData: Number(mostMegabytes) }).unref()

let library: Promise<AvLibrary> | null = null
const loaded = () => {
  library ??= loadAvLibrary()
  return library
}

// The parent process is gone.
process.on('disconnect', () => process.exit(0))
process.on('message', async ({ name, task }: MediaRequest) => {
  process.send?.(await answerOf(name, task))
})

async function answerOf(name: MediaRequest['name'], task: unknown): Promise<MediaAnswer> {
  try {
    switch (name) {
      case 'convert':
        return { answer: convert(await loaded(), task as Conversion) }
      case 'video':
        return { answer: await takeVideo(task as TakeVideoTask) }
      case 'whole': {
        const { path, format } = task as MediaTasks['whole']['task']
        return { answer: checkWhole(await readFile(path), format) }
      }
      case 'lacking': {
        const { av } = await loaded()
        const isLacking = (encoder: string) => av.Codec.findEncoderByName(encoder as never) === null
        return { answer: (task as readonly string[]).filter(isLacking) }
      }
    }
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    if (error instanceof FfmpegMissing) return { problem: 'missing', words }
    if (error instanceof Excessive) return { problem: 'excessive', words }
    return { problem: error instanceof AvError || error instanceof Unreadable ? 'unreadable' : 'failed', words }
  }
}

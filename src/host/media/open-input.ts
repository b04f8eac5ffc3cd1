import type { CodecContext, FormatContext, Frame, Packet, Stream } from 'node-av/lib'
import { AvError, type AvLibrary, setOptions, stepOf, succeed } from './ffmpeg.ts'
import type { Conversion, ConversionInput, Track } from './tasks.ts'

export interface FrameTaker {
  /** Takes the content of the frame; its time is in the stream's units. */
  take(frame: Frame, stream: Stream): void
  end(): void
}

interface Read {
  stream: Stream
  decoder: CodecContext
  taker: FrameTaker
  /** How many more samples of one channel may be decoded. */
  leftSamples: number
}

/** A file whose packets are decoded one after another. */
export class OpenInput {
  readonly #library: AvLibrary
  readonly #isStill: boolean
  readonly #context: FormatContext
  readonly #packet: Packet
  readonly #frame: Frame
  readonly #reads = new Map<number, Read>()
  #startSeconds = 0
  isOver = false

  /** Throws `AvError` if the file is not of its demuxer's format. */
  constructor(library: AvLibrary, { path, reader, options = {}, isStill = false }: ConversionInput) {
    const { av } = library
    this.#library = library
    this.#isStill = isStill
    this.#context = new av.FormatContext()
    this.#packet = new av.Packet()
    this.#packet.alloc()
    this.#frame = new av.Frame()
    this.#frame.alloc()
    const format = av.InputFormat.findInputFormat(reader)
    if (!format) throw new AvError(reader, 'no such reader')
    this.#context.allocContext()
    const given = av.Dictionary.fromObject({ protocol_whitelist: 'file', ...options })
    succeed(library, this.#context.openInputSync(`file:${path}`, format, given), 'opening the file')
    succeed(library, this.#context.findStreamInfoSync(null), 'looking for streams')
    const { startTime } = this.#context
    if (startTime > 0n) this.#startSeconds = Number(startTime) / 1e6
  }

  /** Returns the first stream of a kind, not counting cover images; null if there is none. */
  streamOf(kind: Track['kind']): Stream | null {
    const { names } = this.#library
    const type = kind === 'video' ? names.AVMEDIA_TYPE_VIDEO : names.AVMEDIA_TYPE_AUDIO
    const isCover = (stream: Stream) => (stream.disposition & names.AV_DISPOSITION_ATTACHED_PIC) !== 0
    return this.#context.streams.find(each => each.codecpar.codecType === type && !isCover(each)) ?? null
  }

  /** Decodes this stream from now on. Throws `AvError` if there is no decoder for it. */
  decode(stream: Stream, taker: FrameTaker, most: Pick<Conversion, 'maxPixels' | 'maxSamples'>): void {
    const { av } = this.#library
    const codec = av.Codec.findDecoder(stream.codecpar.codecId)
    if (!codec) throw new AvError('decoding', 'an unknown codec')
    const decoder = new av.CodecContext()
    decoder.allocContext3(codec)
    succeed(this.#library, decoder.parametersToContext(stream.codecpar), 'setting up the decoder')
    decoder.pktTimebase = stream.timeBase
    setOptions(this.#library, decoder, { max_pixels: `${most.maxPixels}`, threads: '1' })
    succeed(this.#library, decoder.open2Sync(codec, null), 'opening the decoder')
    const leftSamples = most.maxSamples ?? Number.POSITIVE_INFINITY
    this.#reads.set(stream.index, { stream, decoder, taker, leftSamples })
  }

  /** Streams that are not decoded are not read. */
  discardOthers(): void {
    const { names } = this.#library
    for (const stream of this.#context.streams) {
      if (!this.#reads.has(stream.index)) stream.discard = names.AVDISCARD_ALL
    }
  }

  /** Decodes the next packet; at the end of the file, everything that decoders have buffered. */
  readOn(): void {
    const step = stepOf(this.#library, this.#context.readFrameSync(this.#packet), 'reading the file')
    if (step === 'ended') {
      this.#finish()
      return
    }
    const read = this.#reads.get(this.#packet.streamIndex)
    // Damaged parts of a file are skipped, as by every player.
    if (read && read.decoder.sendPacketSync(this.#packet) >= 0) this.#drain(read)
    this.#packet.unref()
  }

  close(): void {
    for (const { decoder } of this.#reads.values()) decoder.freeContext()
    this.#context.closeInputSync()
    this.#packet.free()
    this.#frame.free()
  }

  #finish(): void {
    for (const read of this.#reads.values()) {
      if (this.isOver) return
      read.decoder.sendPacketSync(null)
      this.#drain(read)
    }
    this.#end()
  }

  #end(): void {
    if (this.isOver) return
    this.isOver = true
    for (const { taker } of this.#reads.values()) taker.end()
  }

  #drain(read: Read): void {
    const { stream, decoder, taker } = read
    const start = BigInt(Math.round((this.#startSeconds * stream.timeBase.den) / stream.timeBase.num))
    while (!this.isOver && decoder.receiveFrameSync(this.#frame) >= 0) {
      read.leftSamples -= this.#frame.nbSamples
      if (read.leftSamples < 0) throw new AvError('decoding', 'too many samples')
      const time = this.#frame.bestEffortTimestamp
      if (time !== this.#library.names.AV_NOPTS_VALUE) this.#frame.pts = time - start
      taker.take(this.#frame, stream)
      this.#frame.unref()
      if (this.#isStill) this.#end()
    }
  }
}

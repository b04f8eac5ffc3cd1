import type { CodecContext, FormatContext, Frame, Packet, Stream } from 'node-av/lib'
import { AvError, type AvLibrary, setOptions, stepOf, succeed } from './ffmpeg.ts'
import type { FilterChain } from './filter-chain.ts'
import type { AudioTrack, Conversion, Track } from './tasks.ts'

/** A file being written, whose encoders are all open before its first byte. */
export class OpenOutput {
  readonly #library: AvLibrary
  readonly #to: Conversion['to']
  readonly #context: FormatContext
  readonly #packet: Packet
  bytes = 0

  constructor(library: AvLibrary, to: Conversion['to']) {
    const { av } = library
    this.#library = library
    this.#to = to
    this.#context = new av.FormatContext()
    succeed(library, this.#context.allocOutputContext2(null, to.format, `file:${to.path}`), 'setting up the file')
    this.#packet = new av.Packet()
    this.#packet.alloc()
  }

  get isFull(): boolean {
    return this.bytes >= this.#to.mostBytes
  }

  add(encoder: CodecContext): Stream {
    const stream = this.#context.newStream()
    succeed(this.#library, stream.codecpar.fromContext(encoder), 'adding a track')
    stream.timeBase = encoder.timeBase
    return stream
  }

  get wantsGlobalHeader(): boolean {
    const { names } = this.#library
    return this.#context.oformat?.hasFlags(names.AVFMT_GLOBALHEADER) ?? false
  }

  begin(): void {
    const { names } = this.#library
    if (!this.#context.oformat?.hasFlags(names.AVFMT_NOFILE)) {
      succeed(this.#library, this.#context.openOutputSync(), 'opening the file')
    }
    // The same input gives the same file: it contains no date and no program name.
    this.#context.setFlags(names.AVFMT_FLAG_BITEXACT)
    setOptions(this.#library, this.#context, this.#to.options)
    succeed(this.#library, this.#context.writeHeaderSync(null), 'beginning the file')
  }

  /** Encodes a frame, or with null what the encoder has buffered. */
  write(encoder: CodecContext, stream: Stream, frame: Frame | null): void {
    succeed(this.#library, encoder.sendFrameSync(frame), 'encoding')
    while (stepOf(this.#library, encoder.receivePacketSync(this.#packet), 'encoding') === 'done') {
      this.bytes += this.#packet.size
      this.#packet.streamIndex = stream.index
      this.#packet.rescaleTs(encoder.timeBase, stream.timeBase)
      succeed(this.#library, this.#context.interleavedWriteFrameSync(this.#packet), 'writing the file')
    }
  }

  end(): void {
    succeed(this.#library, this.#context.writeTrailerSync(), 'ending the file')
  }

  close(): void {
    this.#context.closeOutputSync()
    this.#context.freeContext()
    this.#packet.free()
  }
}

/** Opens an encoder for the output of a filter chain. Throws `AvError` if there is none of its name. */
export function openEncoder(library: AvLibrary, track: Track, sink: FilterChain['sink'], isGlobal: boolean) {
  const { names } = library
  const encoder = newEncoder(library, track.encoder)
  if (track.kind === 'video') {
    encoder.width = sink.buffersinkGetWidth()
    encoder.height = sink.buffersinkGetHeight()
    encoder.pixelFormat = sink.buffersinkGetFormat() as typeof encoder.pixelFormat
    encoder.sampleAspectRatio = sink.buffersinkGetSampleAspectRatio()
    encoder.timeBase = sink.buffersinkGetTimeBase()
    encoder.framerate = sink.buffersinkGetFrameRate()
    encoder.colorRange = sink.buffersinkGetColorRange()
    encoder.colorSpace = sink.buffersinkGetColorspace()
  } else setUpAudio(library, encoder, track)
  if (isGlobal) encoder.setFlags(names.AV_CODEC_FLAG_GLOBAL_HEADER)
  encoder.setFlags(names.AV_CODEC_FLAG_BITEXACT, names.AV_CODEC_FLAG_FRAME_DURATION)
  setOptions(library, encoder, { threads: '2', ...track.options })
  succeed(library, encoder.open2Sync(null, null), 'opening the encoder')
  return encoder
}

/** Ends an audio track's filters with the sample format and frame size that its encoder needs. */
export function audioEnding(library: AvLibrary, track: AudioTrack): string {
  const encoder = newEncoder(library, track.encoder)
  setUpAudio(library, encoder, track)
  setOptions(library, encoder, track.options)
  succeed(library, encoder.open2Sync(null, null), 'opening the encoder')
  const { frameSize, sampleFormat } = encoder
  encoder.freeContext()
  const layout = track.channels === 1 ? 'mono' : 'stereo'
  const format = library.av.avGetSampleFmtName(sampleFormat)
  const converted = `aformat=sample_fmts=${format}:sample_rates=${track.rate}:channel_layouts=${layout}`
  return frameSize > 0 ? `${converted},asetnsamples=n=${frameSize}:p=0` : converted
}

function setUpAudio({ av }: AvLibrary, encoder: CodecContext, { rate, channels, encoder: name }: AudioTrack): void {
  const format = av.Codec.findEncoderByName(name as never)?.sampleFormats?.[0]
  if (format === undefined) throw new AvError(name, 'no samples')
  encoder.sampleRate = rate
  encoder.sampleFormat = format
  encoder.channelLayout = av.avChannelLayoutDefault(channels)
  encoder.timeBase = new av.Rational(1, rate)
}

function newEncoder({ av }: AvLibrary, name: string): CodecContext {
  const codec = av.Codec.findEncoderByName(name as never)
  if (!codec) throw new AvError(name, 'no such encoder')
  const encoder = new av.CodecContext()
  encoder.allocContext3(codec)
  return encoder
}

/** What is used of the settings of a decoder. */
interface AudioSettings {
  sampleRate: number
  numberOfChannels: number
}

/** Samples of one packet, for codecs where each has as many. */
const fixedSamples: Readonly<Record<string, number>> = { aac: 1_024, ac3: 1_536 }

/** Bytes of one sample of one channel. */
const plainBytes = (codec: string): number | null => {
  const bits = /^pcm-[a-z](\d+)/.exec(codec)?.[1]
  return codec === 'ulaw' || codec === 'alaw' ? 1 : bits ? Number(bits) / 8 : null
}

/**
 * How long a packet of audio plays by what is coded in it, because its container may say any time. Null for codecs whose
 * packets do not tell without being decoded.
 */
export function codedSeconds(codec: string, settings: AudioSettings, data: Uint8Array): number | null {
  const { sampleRate, numberOfChannels } = settings
  const fixed = fixedSamples[codec]
  if (fixed !== undefined) return fixed / sampleRate
  const bytes = plainBytes(codec)
  if (bytes !== null) return data.length / (bytes * numberOfChannels * sampleRate)
  if (codec === 'mp3') return (sampleRate >= 32_000 ? 1_152 : 576) / sampleRate
  return codec === 'opus' ? opusSeconds(data) : null
}

/** By the first bytes of an Opus packet: which frames, and how many (RFC 6716, section 3.1). */
function opusSeconds([head = 0, count = 0]: Uint8Array): number {
  const config = head >> 3
  const frameMs =
    config < 12 ? [10, 20, 40, 60][config % 4] : config < 16 ? [10, 20][config % 2] : [2.5, 5, 10, 20][config % 4]
  const frames = (head & 3) === 0 ? 1 : (head & 3) === 3 ? count & 63 : 2
  return ((frameMs ?? 20) * frames) / 1_000
}

/** Sound as numbers: 16 bits, little-endian, one channel. */
export interface Sound {
  samples: Int16Array
  /** A second. */
  rate: number
}

const headerBytes = 44

/** The 44 bytes before the samples; without a length, as for a stream, it says the most that there can be. */
export function wavHeader(rate: number, sampleBytes: number = 0xffff_ffff - headerBytes): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(sampleBytes + headerBytes - 8, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  // PCM, one channel.
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(sampleBytes, 40)
  return header
}

export const pcmOf = ({ samples }: Sound): Buffer => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)

export function wavOf(sound: Sound): Buffer {
  const pcm = pcmOf(sound)
  return Buffer.concat([wavHeader(sound.rate, pcm.byteLength), pcm])
}

interface WavData {
  /** A second. */
  rate: number
  bytesPerSecond: number
  data: Buffer
}

/** Seconds by the chunks of a WAV file; null where they say none. What the header claims beyond the file does not count. */
export function wavSeconds(bytes: Buffer): number | null {
  const found = wavData(bytes)
  return found && found.data.length / found.bytesPerSecond
}

/** The samples of a WAV of 16 bits and one channel; null for any other. */
export function soundOfWav(bytes: Buffer): Sound | null {
  const found = wavData(bytes)
  if (!found || found.bytesPerSecond !== found.rate * 2) return null
  const { rate, data } = found
  const count = Math.floor(data.length / 2)
  return { samples: Int16Array.from({ length: count }, (_, index) => data.readInt16LE(index * 2)), rate }
}

function wavData(bytes: Buffer): WavData | null {
  let rate = 0
  let bytesPerSecond = 0
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.subarray(at, at + 4).toString('latin1')
    const size = bytes.readUInt32LE(at + 4)
    if (name === 'fmt ' && at + 20 <= bytes.length) {
      rate = bytes.readUInt32LE(at + 12)
      bytesPerSecond = bytes.readUInt32LE(at + 16)
    }
    if (name === 'data') {
      const data = bytes.subarray(at + 8, at + 8 + size)
      return bytesPerSecond > 0 && data.length > 0 ? { rate, bytesPerSecond, data } : null
    }
    at += 8 + size + (size % 2)
  }
  return null
}

/** The same sound at another rate, by straight lines between its samples. */
export function resampled({ samples, rate }: Sound, wanted: number): Sound {
  if (rate === wanted) return { samples, rate }
  const count = Math.floor((samples.length * wanted) / rate)
  const result = new Int16Array(count)
  for (let index = 0; index < count; index++) {
    const place = (index * rate) / wanted
    const before = Math.floor(place)
    const low = samples[before] ?? 0
    const high = samples[before + 1] ?? low
    result[index] = Math.round(low + (high - low) * (place - before))
  }
  return { samples: result, rate: wanted }
}

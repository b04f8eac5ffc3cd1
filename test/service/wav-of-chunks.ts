export interface WavClaims {
  tag?: number
  channels?: number
  rate?: number
  bits?: number
  /** What follows from the others, where absent. */
  bytesPerSecond?: number
  frameBytes?: number
}

/** A WAV whose header says anything, with its samples in as many chunks: silence of so many bytes, or the bytes themselves. */
export function wavOfChunks(claims: WavClaims, data: readonly (number | Buffer)[] = [160_000]): Buffer {
  const { tag = 1, channels = 1, rate = 8_000, bits = 16 } = claims
  const { frameBytes = Math.floor((channels * bits) / 8) } = claims
  const { bytesPerSecond = (rate * frameBytes) % 2 ** 32 } = claims
  const format = Buffer.alloc(16)
  format.writeUInt16LE(tag, 0)
  format.writeUInt16LE(channels, 2)
  format.writeUInt32LE(rate, 4)
  format.writeUInt32LE(bytesPerSecond, 8)
  format.writeUInt16LE(frameBytes % 2 ** 16, 12)
  format.writeUInt16LE(bits, 14)
  const chunks = data.map(each => chunk('data', typeof each === 'number' ? Buffer.alloc(each) : each))
  const body = Buffer.concat([Buffer.from('WAVE'), chunk('fmt ', format), ...chunks])
  return chunk('RIFF', body)
}

function chunk(name: string, bytes: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32LE(bytes.length)
  return Buffer.concat([Buffer.from(name), size, bytes])
}

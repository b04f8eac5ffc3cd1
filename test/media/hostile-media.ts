/** Small files that would cost a reader much: many samples, deep boxes, hours of silence, a million heads of frames. */

const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

const u16 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function box(name: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([u32(content.length + 8), Buffer.from(name, 'latin1'), content])
}

const fileType = box('ftyp', Buffer.from('isom'), u32(512), Buffer.from('isomiso2avc1mp41'))

/** An MP4 of this many frames of one byte, in some hundred bytes of tables; `sizes` is what the other table says of them. */
export function videoOfSamples(samples: number, { sizes = samples } = {}): Buffer {
  const avcC = box('avcC', Buffer.from('0142c01effe1000a6742c01e95a0140016ec01000468ce3c80', 'hex'))
  const head = [Buffer.alloc(6), u16(1), Buffer.alloc(16), u16(64, 64), u32(0x480000, 0x480000, 0), u16(1)]
  const avc1 = box('avc1', ...head, Buffer.alloc(32), u16(24, 0xffff), avcC)
  const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
  const index = (offset: number) => {
    const tables = [
      box('stsd', u32(0, 1), avc1),
      box('stts', u32(0, 1, samples, 1)),
      box('stsc', u32(0, 1, 1, samples, 1)),
      box('stsz', u32(0, 1, sizes)),
      box('stco', u32(0, 1, offset)),
    ]
    const dinf = box('dinf', box('dref', u32(0, 1), box('url ', u32(1))))
    const minf = box('minf', box('vmhd', u32(1, 0, 0)), dinf, box('stbl', ...tables))
    const mdhd = box('mdhd', u32(0, 0, 0, 1_000_000, samples), u16(0x55c4, 0))
    const hdlr = box('hdlr', u32(0, 0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('v\0'))
    const tkhd = box('tkhd', u32(3, 0, 0, 1, 0, samples, 0, 0), u16(0, 0, 0, 0), matrix, u32(64 << 16, 64 << 16))
    const mvhd = box(
      'mvhd',
      u32(0, 0, 0, 1_000_000, samples, 0x10000),
      u16(0x100, 0),
      u32(0, 0),
      matrix,
      Buffer.alloc(24),
      u32(2),
    )
    return box('moov', mvhd, box('trak', tkhd, box('mdia', mdhd, hdlr, minf)))
  }
  const moov = index(fileType.length + index(0).length + 8)
  return Buffer.concat([fileType, moov, box('mdat', Buffer.alloc(sizes, 1))])
}

/** An MP4 whose boxes lie within each other. */
export function nestedBoxes(name: string, depth: number): Buffer {
  const boxes = Buffer.alloc(depth * 8)
  for (let level = 0; level < depth; level++) {
    boxes.writeUInt32BE((depth - level) * 8, level * 8)
    boxes.write(level === 0 ? 'moov' : name, level * 8 + 4, 'latin1')
  }
  return Buffer.concat([fileType, boxes])
}

/** A Matroska whose elements lie within each other, as deep as their sizes let them. */
export function nestedElements(id: string, depth: number): Buffer {
  const head = Buffer.from('1a45dfa387428284', 'hex')
  const kind = Buffer.concat([Buffer.from('webm')])
  const parts: Buffer[] = []
  const each = Buffer.from(id, 'hex').length + 8
  for (let level = depth; level > 0; level--) {
    const size = Buffer.alloc(8)
    size.writeBigUInt64BE(0x0100_0000_0000_0000n + BigInt((level - 1) * each))
    parts.push(Buffer.from(id, 'hex'), size)
  }
  return Buffer.concat([head, kind, ...parts])
}

const crc8 = (bytes: Buffer): number =>
  bytes.reduce((sum, byte) => {
    let next = sum ^ byte
    for (let bit = 0; bit < 8; bit++) next = next & 0x80 ? ((next << 1) ^ 7) & 0xff : (next << 1) & 0xff
    return next
  }, 0)

const crc16 = (bytes: Buffer): number =>
  bytes.reduce((sum, byte) => {
    let next = sum ^ (byte << 8)
    for (let bit = 0; bit < 8; bit++) next = next & 0x8000 ? ((next << 1) ^ 0x8005) & 0xffff : (next << 1) & 0xffff
    return next
  }, 0)

function codedNumber(value: number): Buffer {
  if (value < 0x80) return Buffer.from([value])
  const rest = [value & 0x3f, (value >> 6) & 0x3f, (value >> 12) & 0x3f].map(part => 0x80 | part)
  if (value < 0x800) return Buffer.from([0xc0 | (value >> 6), rest[0] ?? 0])
  if (value < 0x10000) return Buffer.from([0xe0 | (value >> 12), rest[1] ?? 0, rest[0] ?? 0])
  return Buffer.from([0xf0 | (value >> 18), rest[2] ?? 0, rest[1] ?? 0, rest[0] ?? 0])
}

const blockSamples = 65_535

const flacHead = (number: number): Buffer => {
  const head = Buffer.concat([Buffer.from([0xff, 0xf8, 0x70, 0x08]), codedNumber(number), u16(blockSamples - 1)])
  return Buffer.concat([head, Buffer.from([crc8(head)])])
}

function flacOf(rate: number, samples: bigint, frames: readonly Buffer[]): Buffer {
  const info = Buffer.alloc(34)
  info.writeUInt16BE(blockSamples, 0)
  info.writeUInt16BE(blockSamples, 2)
  info.writeBigUInt64BE((BigInt(rate) << 44n) | (15n << 36n) | samples, 10)
  return Buffer.concat([Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), info, ...frames])
}

/** A FLAC of silence, some 15 bytes a frame of 65,535 samples. Its header may say another number of samples. */
export function silentFlac(rate: number, seconds: number, says?: bigint): Buffer {
  const count = Math.ceil((rate * seconds) / blockSamples)
  const frames = Array.from({ length: count }, (_, number) => {
    const frame = Buffer.concat([flacHead(number), Buffer.from([0, 0, 0])])
    return Buffer.concat([frame, u16(crc16(frame))])
  })
  return flacOf(rate, says ?? BigInt(count * blockSamples), frames)
}

/** A FLAC of nothing but heads of frames, none of which is whole. */
export const flacOfHeads = (count: number): Buffer =>
  flacOf(44_100, 0n, [Buffer.concat(Array<Buffer>(count).fill(flacHead(0)))])

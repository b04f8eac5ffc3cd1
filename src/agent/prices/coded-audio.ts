/**
 * Whether what calls itself samples may be coded sound: readers of WAV files look for it, and then it may be hours long.
 * They take it for such after several frames in a row, or by marks that no ordinary sound has.
 */
export const mayBeCoded = (data: Buffer): boolean =>
  marks.some(mark => data.includes(mark)) || hasFrames(data, 0xff, mpegFrameBytes) || hasOtherFrames(data)

/** The same of what calls itself MP3: readers go by what most of a file is. */
export const hasOtherFrames = (data: Buffer): boolean =>
  hasFrames(data, 0xff, adtsFrameBytes) ||
  hasFrames(data, 0x56, loasFrameBytes) ||
  hasFrames(data, 0x0b, dolbyFrameBytes) ||
  hasFrames(data, 0x77, (bytes, at) => (bytes[at + 1] === 0x0b ? dolbyFrameBytes(swapped(bytes, at), 0) : null))

/** Whether a WAV is what dictating machines write: the header of samples, silence, one mark, and then coded speech. */
export const isDictation = (file: Buffer): boolean =>
  file[dictation.markAt] === dictation.mark &&
  dictation.silent.every(([from, to]) => !file.subarray(from, to).some(Boolean))

const dictation = {
  markAt: 256,
  mark: 0x84,
  silent: [
    [44, 256],
    [264, 512],
  ],
} as const

/** Of coded sound for a digital line, of DTS in its four spellings and of TrueHD and MLP. */
const marks = ['72f81f4e', 'f8724e1f', '7ffe8001', 'fe7f0180', '1fffe800', 'ff1f00e8', 'f8726fba', 'f8726fbb'].map(
  hex => Buffer.from(hex, 'hex'),
)

/** Frames in a row by which readers decide: few where they begin with the data, more anywhere else. */
const framesInRow = { first: 3, later: 6 } as const

/** Bytes of the frame that begins there; null where none does. */
type FrameBytes = (data: Buffer, at: number) => number | null

function hasFrames(data: Buffer, firstByte: number, frameBytes: FrameBytes): boolean {
  for (let start = data.indexOf(firstByte); start >= 0; start = data.indexOf(firstByte, start + 1)) {
    const wanted = start === 0 ? framesInRow.first : framesInRow.later
    let at = start
    let count = 0
    for (; count < wanted; count++) {
      const bytes = data[at] === firstByte ? frameBytes(data, at) : null
      if (bytes === null) break
      at += bytes
    }
    if (count === wanted) return true
  }
  return false
}

/** Kilobits a second of MPEG-1 and of its half rates, by layer; the first is of no use here, and the last is none. */
const kilobits: Readonly<Record<'whole' | 'half', readonly (readonly number[])[]>> = {
  whole: [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  half: [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
}
const rates = [44_100, 48_000, 32_000] as const

function mpegFrameBytes(data: Buffer, at: number): number | null {
  const second = data[at + 1] ?? 0
  const third = data[at + 2] ?? 0
  // Loud 8-bit sound is made of such bytes, so most of them end here.
  if (second < 0xe0 || third >= 0xf0) return null
  const version = (second >> 3) & 3
  const layer = 4 - ((second >> 1) & 3)
  const rate = rates[(third >> 2) & 3]
  const bits = kilobits[version === 3 ? 'whole' : 'half'][layer - 1]?.[third >> 4]
  if (version === 1 || !rate || !bits) return null
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1_152
  const slot = layer === 1 ? 4 : 1
  const slots = Math.floor(
    (samples / 8 / slot) * ((bits * 1_000) / (rate / (version === 3 ? 1 : version === 2 ? 2 : 4))),
  )
  return (slots + ((third >> 1) & 1)) * slot
}

function adtsFrameBytes(data: Buffer, at: number): number | null {
  if (at + 6 > data.length || ((data[at + 1] ?? 0) & 0xf6) !== 0xf0) return null
  const bytes = (data.readUInt32BE(at + 2) >> 5) & 0x1fff
  return bytes < 7 ? null : bytes
}

function loasFrameBytes(data: Buffer, at: number): number | null {
  if (at + 3 > data.length) return null
  const head = data.readUIntBE(at, 3)
  return head >> 13 === 0x2b7 ? (head & 0x1fff) + 3 : null
}

const dolbyKilobits = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const

/** AC-3 tells its rate, and its newer form its length in words. */
function dolbyFrameBytes(data: Buffer, at: number): number | null {
  if (at + 6 > data.length || data[at + 1] !== 0x77) return null
  const [third = 0, fourth = 0, fifth = 0, sixth = 0] = data.subarray(at + 2, at + 6)
  if (sixth >> 3 > 10) return (((third & 7) << 8) + fourth + 1) * 2
  const code = fifth & 0x3f
  const bits = dolbyKilobits[code >> 1]
  if (bits === undefined) return null
  if (fifth >> 6 === 0) return bits * 4
  if (fifth >> 6 === 2) return bits * 6
  return fifth >> 6 === 1 ? (Math.floor((bits * 96_000) / 44_100) + (code & 1)) * 2 : null
}

/** The head of a frame whose bytes are in pairs the other way round. */
const swapped = (data: Buffer, at: number): Buffer => {
  const head = Buffer.from(data.subarray(at, at + 6))
  return head.length === 6 ? head.swap16() : head
}

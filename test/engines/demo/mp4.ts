/** What a player reads first in an MP4: the order of its boxes, its length, its frames and its audio. */
export interface Mp4 {
  boxes: string[]
  seconds: number
  width: number
  height: number
  hasAudio: boolean
  codec: string
}

function* boxesOf(bytes: Buffer, start = 0, end = bytes.length): Generator<{ name: string; from: number; to: number }> {
  for (let at = start; at + 8 <= end; ) {
    const size = bytes.readUInt32BE(at)
    if (size < 8 || at + size > end) throw new Error(`A box of ${size} bytes at ${at} does not fit.`)
    yield { name: bytes.toString('latin1', at + 4, at + 8), from: at + 8, to: at + size }
    at += size
  }
}

function inside(bytes: Buffer, from: number, to: number, ...path: string[]): { from: number; to: number }[] {
  const [name, ...rest] = path
  if (name === undefined) return [{ from, to }]
  return [...boxesOf(bytes, from, to)]
    .filter(box => box.name === name)
    .flatMap(box => inside(bytes, box.from, box.to, ...rest))
}

export function readMp4(bytes: Buffer): Mp4 {
  const all = (...path: string[]) => inside(bytes, 0, bytes.length, ...path)
  const [header] = all('moov', 'mvhd')
  if (!header) throw new Error('No moov/mvhd.')
  const sizes = all('moov', 'trak', 'tkhd').map(({ to }) => [
    bytes.readUInt32BE(to - 8) / 65_536,
    bytes.readUInt32BE(to - 4) / 65_536,
  ])
  const codecs = all('moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd').map(({ from }) =>
    bytes.toString('latin1', from + 12, from + 16),
  )
  const [width = 0, height = 0] = sizes.find(([across]) => across) ?? []
  return {
    boxes: [...boxesOf(bytes)].map(({ name }) => name),
    seconds: bytes.readUInt32BE(header.from + 16) / bytes.readUInt32BE(header.from + 12),
    width,
    height,
    hasAudio: codecs.includes('mp4a'),
    codec: codecs.find(codec => codec !== 'mp4a') ?? '',
  }
}

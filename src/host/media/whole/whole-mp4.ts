import { Unreadable } from '../file-faults.ts'

const cutOff = (why: string) => new Unreadable(`cut off: ${why}`)

interface Box {
  name: string
  /** Start of its content. */
  start: number
  end: number
}

/** Boxes that contain boxes, on the way to the sample tables and to those of fragments. */
const holders = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'mvex', 'moof', 'traf'])

/** Sample tables are five boxes deep. */
const deepestBox = 8

/**
 * MP4 and MOV: the boxes must fill the file, and every sample of every table must lie in it. Returns how many packets
 * its tables count. Throws `Unreadable`.
 */
export function checkMp4(bytes: Buffer): number {
  const top = boxesIn(bytes, 0, bytes.length)
  if (!top.some(({ name }) => name === 'moov')) throw cutOff('the index is missing')
  let packets = 0
  for (const { name, start, end } of top) {
    if (holders.has(name)) packets += checkTables(bytes, { start, end, depth: 1 })
    if (name === 'sidx') checkSegments(bytes, start, end)
  }
  return packets
}

function boxesIn(bytes: Buffer, from: number, to: number): Box[] {
  const boxes: Box[] = []
  for (let at = from; at + 8 <= to; ) {
    const name = bytes.toString('latin1', at + 4, at + 8)
    const short = bytes.readUInt32BE(at)
    const isLong = short === 1 && at + 16 <= to
    const size = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? to - at : short
    const start = at + (isLong ? 16 : 8)
    // Old QuickTime files end a list of boxes with a zero.
    if (size < start - at) {
      if (short === 0 && from > 0) return boxes
      throw cutOff(`the box ${name} has ${size} bytes`)
    }
    if (at + size > to) throw cutOff(`the box ${name} has ${size} bytes`)
    boxes.push({ name, start, end: at + size })
    at += size
  }
  return boxes
}

/**
 * Checks for each track that its samples, which are stored in chunks, lie in the file. Returns how many packets the
 * tables count.
 */
function checkTables(bytes: Buffer, { start: from, end: to, depth }: Omit<Box, 'name'> & { depth: number }): number {
  if (depth > deepestBox) throw new Unreadable('its boxes are nested too deeply')
  const boxes = boxesIn(bytes, from, to)
  let packets = 0
  for (const { name, start, end } of boxes) {
    if (holders.has(name)) packets += checkTables(bytes, { start, end, depth: depth + 1 })
  }
  const tables = new Map(boxes.map(box => [box.name, box]))
  const [chunks, sizes, runs] = [tables.get('stco') ?? tables.get('co64'), tables.get('stsz'), tables.get('stsc')]
  if (chunks && sizes && runs) checkExtents(bytes, { chunks, sizes, runs })
  return packets + packetsOf(bytes, boxes)
}

/** Plain audio is read in chunks, however its samples are counted. */
const plainAudio = new Set([
  'raw ',
  'twos',
  'sowt',
  'in24',
  'in32',
  'fl32',
  'fl64',
  'lpcm',
  'ipcm',
  'fpcm',
  'ulaw',
  'alaw',
])

/**
 * Counts the packets in the tables of a track or fragment: tables may disagree, and readers differ in which they use.
 */
function packetsOf(bytes: Buffer, boxes: readonly Box[]): number {
  const named = (...names: string[]) => boxes.filter(({ name }) => names.includes(name))
  const sum = (list: readonly Box[], countOf: (box: Box) => number) => list.reduce((all, box) => all + countOf(box), 0)
  const fragments = sum(named('trun'), box => countAt(bytes, box, 4))
  const codings = named('stsd').flatMap(box => codingsOf(bytes, box))
  if (codings.length && codings.every(name => plainAudio.has(name))) {
    return fragments + sum(named('stco', 'co64'), box => countAt(bytes, box, 4))
  }
  const sizes = sum(named('stsz', 'stz2'), box => countAt(bytes, box, 8))
  const times = sum(named('stts'), box => timesOf(bytes, box))
  return fragments + Math.max(sizes, times)
}

/** Returns the codings that a track may have. An invalid one is left to the reader, which refuses it. */
function codingsOf(bytes: Buffer, { start, end }: Box): string[] {
  const codings: string[] = []
  for (let at = start + 8; at + 8 <= end; at += Math.max(8, bytes.readUInt32BE(at))) {
    codings.push(bytes.toString('latin1', at + 4, at + 8))
  }
  return codings
}

const countAt = (bytes: Buffer, { start, end }: Box, at: number): number =>
  start + at + 4 <= end ? bytes.readUInt32BE(start + at) : 0

/** Counts samples by the table of their times. */
function timesOf(bytes: Buffer, { start, end }: Box): number {
  let samples = 0
  for (let at = start + 8; at + 8 <= end; at += 8) samples += bytes.readUInt32BE(at)
  return samples
}

interface Tables {
  chunks: Box
  sizes: Box
  runs: Box
}

function checkExtents(bytes: Buffer, { chunks, sizes, runs }: Tables): void {
  const offsetBytes = chunks.name === 'co64' ? 8 : 4
  const count = listed(bytes, chunks, 4, offsetBytes)
  const runCount = listed(bytes, runs, 4, 12)
  const same = sizes.start + 12 <= sizes.end ? bytes.readUInt32BE(sizes.start + 4) : 0
  const samples = same > 0 ? bytes.readUInt32BE(sizes.start + 8) : listed(bytes, sizes, 8, 4)
  let [sample, run] = [0, 0]
  for (let chunk = 0; chunk < count && sample < samples; chunk++) {
    const next = runs.start + 8 + (run + 1) * 12
    if (run + 1 < runCount && bytes.readUInt32BE(next) <= chunk + 1) run++
    const inChunk = runCount > 0 ? bytes.readUInt32BE(runs.start + 8 + run * 12 + 4) : 0
    const at = chunks.start + 8 + chunk * offsetBytes
    let end = offsetBytes === 8 ? Number(bytes.readBigUInt64BE(at)) : bytes.readUInt32BE(at)
    const last = Math.min(samples, sample + inChunk)
    if (same > 0) end += (last - sample) * same
    else for (let each = sample; each < last; each++) end += bytes.readUInt32BE(sizes.start + 12 + each * 4)
    // Samples of plain audio are counted one by one, and another box may give their size.
    if (end > bytes.length && !(same === 1)) throw cutOff(`a sample ends at byte ${end}`)
    sample = last
  }
}

/** Returns the number of entries in a table, after checking that they fit. */
function listed(bytes: Buffer, { name, start, end }: Box, countAt: number, entryBytes: number): number {
  const entries = start + countAt + 4
  if (entries > end) throw cutOff(`the table ${name} is incomplete`)
  const count = bytes.readUInt32BE(start + countAt)
  if (entries + count * entryBytes > end) throw cutOff(`the table ${name} is incomplete`)
  return count
}

/** Checks an index of fragments: all that it counts must exist. */
function checkSegments(bytes: Buffer, start: number, end: number): void {
  const isLong = bytes[start] === 1
  const at = start + (isLong ? 28 : 20)
  if (at + 4 > end) return
  const firstOffset = isLong ? Number(bytes.readBigUInt64BE(start + 20)) : bytes.readUInt32BE(start + 16)
  const count = bytes.readUInt16BE(at + 2)
  let reach = end + firstOffset
  for (let index = 0; index < count && at + 8 + index * 12 <= end; index++) {
    reach += bytes.readUInt32BE(at + 4 + index * 12) & 0x7fff_ffff
  }
  if (reach > bytes.length) throw cutOff(`its index describes ${reach} bytes`)
}

/** One change to the followed folder, in the order in which they were made. */
export type Change =
  | { what: 'made'; file: number; name: string }
  | { what: 'written'; file: number; offset: number; bytes: Buffer }
  | { what: 'cut'; file: number; size: number }
  | { what: 'synced'; file: number }
  | { what: 'folder synced' }
  | { what: 'deleted'; name: string }
  | { what: 'renamed' | 'linked'; from: string; to: string }

const headBytes = 24

/** Reads what `shim.c` wrote. A record that is cut short at the end, by a kill, is left out. */
export function readRecording(recording: Buffer): Change[] {
  const changes: Change[] = []
  for (let at = 0; at + headBytes <= recording.length; ) {
    const length = Number(recording.readBigUInt64LE(at + 16))
    const body = recording.subarray(at + headBytes, at + headBytes + length)
    if (body.length < length) break
    changes.push(changeOf(recording.subarray(at, at + headBytes), body))
    at += headBytes + length
  }
  return changes
}

function changeOf(head: Buffer, body: Buffer): Change {
  const kind = head.readUInt32LE(0)
  const file = head.readUInt32LE(4)
  const offset = Number(head.readBigUInt64LE(8))
  switch (kind) {
    case 1:
      return { what: 'made', file, name: body.toString() }
    case 2:
      return { what: 'written', file, offset, bytes: body }
    case 3:
      return { what: 'cut', file, size: offset }
    case 4:
      return { what: 'synced', file }
    case 5:
      return { what: 'folder synced' }
    case 6:
      return { what: 'deleted', name: body.toString() }
    case 7:
    case 8: {
      const [from = '', to = ''] = body.toString().split('/')
      return { what: kind === 7 ? 'renamed' : 'linked', from, to }
    }
    default:
      throw new Error(`The recording has a record of kind ${kind}, which nobody writes.`)
  }
}

/** Detects types of files by their first bytes; names and claimed types are ignored. */
export type SniffedType =
  | 'video/mp4'
  | 'video/webm'
  | 'video/quicktime'
  | 'image/png'
  | 'image/jpeg'
  | 'image/webp'
  | 'image/gif'
  | 'audio/mpeg'
  | 'audio/wav'
  | 'audio/ogg'
  | 'audio/flac'
  | 'audio/aac'
  | 'audio/mp4'

type Test = readonly [SniffedType, (head: Uint8Array) => boolean]

const text = (head: Uint8Array, from: number, length: number): string =>
  String.fromCharCode(...head.subarray(from, from + length))

const starts =
  (...bytes: readonly number[]) =>
  (head: Uint8Array) =>
    bytes.every((byte, at) => head[at] === byte)

const brandIs = (brands: RegExp) => (head: Uint8Array) => text(head, 4, 4) === 'ftyp' && brands.test(text(head, 8, 4))

const tests: readonly Test[] = [
  ['audio/mp4', brandIs(/^M4[AB] /)],
  ['video/quicktime', brandIs(/^qt {2}/)],
  // Older files, without a type box.
  ['video/quicktime', head => /^(?:moov|mdat|wide)$/.test(text(head, 4, 4))],
  ['video/mp4', brandIs(/^[\x20-\x7e]{4}$/)],
  ['video/webm', starts(0x1a, 0x45, 0xdf, 0xa3)],
  ['image/png', starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)],
  ['image/jpeg', starts(0xff, 0xd8, 0xff)],
  ['image/webp', head => text(head, 0, 4) === 'RIFF' && text(head, 8, 4) === 'WEBP'],
  ['image/gif', head => /^GIF8[79]a$/.test(text(head, 0, 6))],
  ['audio/wav', head => text(head, 0, 4) === 'RIFF' && text(head, 8, 4) === 'WAVE'],
  ['audio/ogg', head => text(head, 0, 4) === 'OggS'],
  ['audio/flac', head => text(head, 0, 4) === 'fLaC'],
  ['audio/mpeg', head => text(head, 0, 3) === 'ID3'],
  ['audio/aac', head => head[0] === 0xff && ((head[1] ?? 0) & 0xf6) === 0xf0],
  // The sync word of a frame, whose layer is one of three.
  ['audio/mpeg', ([first, second = 0]) => first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) !== 0],
]

/** Returns the type of a file that starts with these bytes; null if it is unknown. */
export const sniffType = (head: Uint8Array): SniffedType | null => tests.find(([, fits]) => fits(head))?.[0] ?? null

/** A media file's type is in its first bytes. */
export const headBytes = 16

/** Whether a body of this content type is parsed as JSON by the service, and by all code that must predict that. */
export function isJsonMediaType(contentType: string | null | undefined): boolean {
  const [mediaType = ''] = (contentType ?? '').split(';')
  return /^application\/(?:[\w.-]+\+)?json$/i.test(mediaType.trim())
}

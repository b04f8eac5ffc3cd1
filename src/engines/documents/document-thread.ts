/** Entry point of the thread that reads documents. Answers in the order of the requests. */
import { optionalPackage } from '#host/packages.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'
import { checkUnpacked, type DocumentAnswer, type DocumentKind, type DocumentTask } from './document-files.ts'

/** Cells that a document's sheets may span, including empty ones; writing them takes a second or two. */
const sheetCells = 1_000_000

interface Unpdf {
  extractText(data: Uint8Array, options: { mergePages: true }): Promise<{ text: string }>
}

interface Mammoth {
  extractRawText(input: { buffer: Buffer }): Promise<{ value: string }>
}

interface Sheets {
  read(data: Uint8Array, options: object): { SheetNames: string[]; Sheets: Record<string, { '!ref'?: string }> }
  utils: {
    sheet_to_csv(sheet: unknown): string
    decode_range(range: string): Record<'s' | 'e', { r: number; c: number }>
  }
}

answerTasks(async ({ bytes, kind }: DocumentTask): Promise<DocumentAnswer> => {
  let read: (bytes: Buffer) => Promise<string>
  try {
    read = await readers[kind]()
  } catch (error) {
    return { missing: String(error) }
  }
  try {
    return { text: await read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) }
  } catch (error) {
    return { unread: String(error) }
  }
})

/** Each loads the library for a kind and returns its reader. */
const readers: Readonly<Record<DocumentKind, () => Promise<(bytes: Buffer) => Promise<string>>>> = {
  plain: async () => async bytes => utf8(bytes),
  html: async () => async bytes => htmlText(utf8(bytes)),
  async pdf() {
    const { extractText } = await optionalPackage<Unpdf>('unpdf', 'Reading PDF')
    return async bytes => (await extractText(new Uint8Array(bytes), { mergePages: true })).text
  },
  async docx() {
    const loaded = await optionalPackage<Mammoth & { default?: Mammoth }>('mammoth', 'Reading Word documents')
    const { extractRawText } = loaded.default ?? loaded
    return async bytes => {
      checkUnpacked(bytes)
      return (await extractRawText({ buffer: bytes })).value
    }
  },
  async sheet() {
    const { read, utils } = await optionalPackage<Sheets>('xlsx', 'Reading spreadsheets')
    return async bytes => {
      if (bytes.subarray(0, 2).toString('latin1') === 'PK') checkUnpacked(bytes)
      const { SheetNames: names, Sheets: sheets } = read(bytes, { dense: true })
      checkCells(Object.values(sheets), utils)
      return names.map(name => `# ${name}\n${utils.sheet_to_csv(sheets[name])}`).join('\n\n')
    }
  },
}

/** Two cells at opposite corners span everything between them, and each cell of that range would be written. */
function checkCells(sheets: readonly { '!ref'?: string }[], { decode_range: decode }: Sheets['utils']): void {
  const cells = sheets.map(({ '!ref': range }) => {
    if (range === undefined) return 0
    const { s: first, e: last } = decode(range)
    return (last.r - first.r + 1) * (last.c - first.c + 1)
  })
  if (!(cells.reduce((all, some) => all + some, 0) <= sheetCells)) throw new Error('It has too many cells.')
}

const utf8 = (bytes: Buffer) => new TextDecoder('utf-8', { fatal: true }).decode(bytes)

// A tag ends where the next one begins: searching further for its end would make `<p <p <p …` take minutes.
const hidden = /<(script|style|template|noscript|head|svg)\b[^<>]*>[\s\S]*?(<\/\1\s*>|$)/gi
const blocks =
  /<\/?(p|div|br|hr|li|ul|ol|tr|table|h[1-6]|section|article|header|footer|blockquote|pre|title)\b[^<>]*>/gi
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** Returns the words of a page, one block per line. Not for display: it is not safe as markup. */
export function htmlText(html: string): string {
  return html
    .replaceAll(/<!--[\s\S]*?(-->|$)/g, '')
    .replaceAll(hidden, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(blocks, '\n')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(#x?[\da-f]{1,6}|[a-z]{2,6});/gi, (whole, name: string) => decoded(name.toLowerCase()) ?? whole)
    .replaceAll(/\s+/g, space => (space.includes('\n') ? '\n' : ' '))
    .trim()
}

function decoded(name: string): string | undefined {
  if (!name.startsWith('#')) return named[name]
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : undefined
}

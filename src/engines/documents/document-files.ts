import { inflateRawSync } from 'node:zlib'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { type DocumentCall, DocumentMissing, type DocumentReader, DocumentUnread } from '../ports/engine.ts'

/** Unpacked size of a document; a book with its images stays below. */
const unpackedBytes = 200 * 1024 * 1024

/** Files within a packed document. */
const packedFiles = 10_000

const directoryEnd = 0x06054b50
const directoryEntry = 0x02014b50
const fileHeader = 0x04034b50
const deflated = 8

/**
 * Unpacks every file of a ZIP up to the limit, because the sizes in its directory prove nothing and the parsing
 * libraries would unpack everything. Some libraries count the files and others read the directory to its end, so both
 * must agree. Throws a sentence if the archive is too large or invalid.
 */
export function checkUnpacked(zip: Buffer): void {
  const { start, end, count } = directoryOf(zip)
  let at = start
  let left = unpackedBytes
  for (let file = 0; file < count; file++) {
    if (zip.readUInt32LE(at) !== directoryEntry) throw new Error('Its directory is broken.')
    left -= unpackedSize(zip, at, left)
    if (left < 0) throw new Error('It decompresses to too much data.')
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  if (at !== end) throw new Error('Its directory does not end where it should.')
}

/**
 * Returns where the directory begins and ends, and how many files it has. Multi-part and 64-bit archives are refused.
 */
function directoryOf(zip: Buffer): { start: number; end: number; count: number } {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > zip.length || zip.readUInt32LE(end) !== directoryEnd)
    throw new Error('It is not a complete ZIP file.')
  const count = zip.readUInt16LE(end + 10)
  const start = zip.readUInt32LE(end + 16)
  const isOnePart = zip.readUInt32LE(end + 4) === 0 && zip.readUInt16LE(end + 8) === count
  if (!isOnePart || start + zip.readUInt32LE(end + 12) !== end) throw new Error('Its directory is broken.')
  if (count > packedFiles) throw new Error('It has too many files.')
  return { start, end, count }
}

function unpackedSize(zip: Buffer, entry: number, atMost: number): number {
  const packed = zip.readUInt32LE(entry + 20)
  const header = zip.readUInt32LE(entry + 42)
  const method = zip.readUInt16LE(entry + 10)
  // Some libraries trust the file's local header, others the directory, so both must agree.
  if (zip.readUInt32LE(header) !== fileHeader || zip.readUInt16LE(header + 8) !== method)
    throw new Error('Its directory contradicts its files.')
  const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28)
  if (method !== deflated) return packed
  return inflateRawSync(zip.subarray(start, start + packed), { maxOutputLength: Math.max(1, atMost) }).length
}

/** Reading hundreds of pages takes seconds; a document built to take longer is given up. */
const documentMs = 30_000

/** Memory of the thread that reads documents. */
const documentHeapMb = 512

/** Documents that may wait for that thread; further ones are refused with Retry-After. */
const documentsWaiting = 16

/** Longest text: about three thousand pages. */
const documentCharacters = 10_000_000

export type DocumentKind = 'pdf' | 'docx' | 'sheet' | 'html' | 'plain'

const zip = Buffer.from('PK\x03\x04', 'latin1')
const oldOffice = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** Returns the kind of a document by its bytes, whatever its sender claims; null if no text can be read here. */
function documentKind(bytes: Buffer): DocumentKind | null {
  if (bytes.subarray(0, 1_024).includes('%PDF-')) return 'pdf'
  if (bytes.subarray(0, 4).equals(zip)) {
    if (bytes.includes('word/document')) return 'docx'
    return bytes.includes('xl/workbook') || bytes.includes('opendocument.spreadsheet') ? 'sheet' : null
  }
  if (bytes.subarray(0, 8).equals(oldOffice)) return bytes.includes('W\0o\0r\0k\0b\0o\0o\0k\0') ? 'sheet' : null
  const start = bytes.subarray(0, 4_096)
  if (start.includes(0)) return null
  return /^\s*(<!doctype html|<html)[\s>]/i.test(start.toString('latin1').replace(/^\xef\xbb\xbf/, ''))
    ? 'html'
    : 'plain'
}

export interface DocumentTask {
  bytes: Uint8Array
  kind: DocumentKind
}

export type DocumentAnswer =
  | { text: string }
  /** The document is at fault. */
  | { unread: string }
  /** A package cannot be loaded. */
  | { missing: string }

/**
 * Reads text, Markdown, CSV and HTML itself, PDF with `unpdf`, Word with `mammoth` and spreadsheets with `xlsx`, all on
 * a thread, because untrusted input may run on or exhaust memory.
 */
export class DocumentFiles implements DocumentReader {
  readonly #thread: TaskThread<DocumentTask, DocumentAnswer>

  constructor({ timeoutMs = documentMs }: { timeoutMs?: number } = {}) {
    const url = threadUrl('document-thread', import.meta.url)
    const limits = { timeoutMs, waiting: documentsWaiting, heapMb: documentHeapMb }
    this.#thread = new TaskThread({ name: 'documents', url, ...limits })
  }

  async read({ bytes, signal }: DocumentCall): Promise<string> {
    const kind = documentKind(bytes)
    if (!kind) throw new DocumentUnread('is not a PDF, Word document, spreadsheet, HTML or UTF-8 text')
    const answer = await this.#thread.run({ bytes, kind }, signal).catch(unread)
    if ('missing' in answer) throw new DocumentMissing(answer.missing)
    if ('unread' in answer)
      throw new DocumentUnread('is damaged, encrypted, or not of the type that its first bytes indicate')
    const text = answer.text.trim()
    if (text === '') throw new DocumentUnread('has no readable text')
    if (text.length > documentCharacters) {
      throw new DocumentUnread(`has more than ${documentCharacters} characters of text`)
    }
    return text
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

function unread(error: unknown): never {
  if (!(error instanceof TaskFailed)) throw error
  throw new DocumentUnread(error.reason === 'late' ? 'takes too long to read' : 'needs too much memory to read')
}

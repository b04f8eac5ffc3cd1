import { TaskFailed, TaskThread } from '#host/threads/task-thread.ts'
import { threadUrl } from '#host/threads/thread-entry.ts'
import { type DocumentCall, DocumentMissing, type DocumentReader, DocumentUnread } from '../ports/engine.ts'

/** Reading a document of some hundred pages takes seconds; one that is built to take longer is given up. */
const documentMs = 30_000

/** Memory of the thread that does it. */
const documentHeapMb = 512

/** Documents that wait for that thread; what comes beyond is told to come again. */
const documentsWaiting = 16

/** Of the text: some three thousand pages. */
const documentCharacters = 10_000_000

export type DocumentKind = 'pdf' | 'docx' | 'sheet' | 'html' | 'plain'

const zip = Buffer.from('PK\x03\x04', 'latin1')
const oldOffice = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** The kind of a document by its bytes, whatever its sender calls it; null when no text can be read here. */
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
  /** A package does not load. */
  | { missing: string }

/**
 * Reads text, Markdown, CSV and HTML by itself, PDF with `unpdf`, Word with `mammoth`, spreadsheets with `xlsx`, all on a
 * thread: untrusted input may make it run on, or out of memory.
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
    if (!kind) throw new DocumentUnread('is no PDF, Word document, spreadsheet, HTML or text in UTF-8')
    const answer = await this.#thread.run({ bytes, kind }, signal).catch(unread)
    if ('missing' in answer) throw new DocumentMissing(answer.missing)
    if ('unread' in answer) throw new DocumentUnread('is damaged, locked, or not what its first bytes say')
    const text = answer.text.trim()
    if (text === '') throw new DocumentUnread('has no text that could be read')
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
  throw new DocumentUnread(error.reason === 'late' ? 'takes too long to be read' : 'is too much to be read')
}

import { TaskFailed, TaskThread } from '#host/threads/task-thread.ts'
import { threadUrl } from '#host/threads/thread-url.ts'
import type { DocumentCall, DocumentReader } from '../ports/engine.ts'
import * as bounds from './bounds.ts'
import { documentKind } from './document-kind.ts'
import type { DocumentAnswer, DocumentTask } from './document-thread-messages.ts'
import { DocumentMissing, DocumentUnread } from './document-unread.ts'

/**
 * Reads text, Markdown, CSV and HTML by itself, PDF with `unpdf`, Word with `mammoth`, spreadsheets with `xlsx`, all on a
 * thread: what strangers wrote may make it run on, or out of memory.
 */
export class DocumentFiles implements DocumentReader {
  readonly #thread: TaskThread<DocumentTask, DocumentAnswer>

  constructor({ timeoutMs = bounds.documentMs }: { timeoutMs?: number } = {}) {
    const url = threadUrl('document-thread', import.meta.url)
    const { documentsWaiting: waiting, documentHeapMb: heapMb } = bounds
    this.#thread = new TaskThread({ name: 'documents', url, timeoutMs, waiting, heapMb })
  }

  async read({ bytes, signal }: DocumentCall): Promise<string> {
    const kind = documentKind(bytes)
    if (!kind) throw new DocumentUnread('is no PDF, Word document, spreadsheet, HTML or text in UTF-8')
    const answer = await this.#thread.run({ bytes, kind }, signal).catch(unread)
    if ('missing' in answer) throw new DocumentMissing(answer.missing)
    if ('unread' in answer) throw new DocumentUnread('is damaged, locked, or not what its first bytes say')
    const text = answer.text.trim()
    if (text === '') throw new DocumentUnread('has no text that could be read')
    if (text.length > bounds.documentCharacters) {
      throw new DocumentUnread(`has more than ${bounds.documentCharacters} characters of text`)
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

import { fieldError } from '#contract/errors/issues.ts'
import { DocumentMissing, type DocumentReader, DocumentUnread } from '#engines/ports/engine.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { Log } from '#host/log.ts'
import { unset } from '../web/search-web.ts'

interface Reading {
  /** Where in the request the document stands. */
  path: readonly (string | number)[]
  documents: DocumentReader
  log: Log
  signal: AbortSignal
}

/** The text of a document. Throws `invalidRequest` that names the field, and `notSetUp` where a package is missing. */
export async function readDocument(bytes: Buffer, { path, documents, log, signal }: Reading): Promise<string> {
  try {
    return await boundedWait(documents.read({ bytes, signal }), { signal })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof DocumentUnread) throw fieldError(path, error.message)
    if (!(error instanceof DocumentMissing)) throw error
    log.warn({ err: error }, 'A document could not be read for want of a package.')
    throw unset(
      'Documents of this kind are not set up on this service. Send the text itself, or ask its operator for it.',
    )
  }
}

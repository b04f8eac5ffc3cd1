import { fieldError } from '#contract/errors/issues.ts'
import { microUsd } from '#contract/money.ts'
import { documentBytes, type ParsedText, type TextParserRequest } from '#contract/operations/documents.ts'
import { augmentMicroUsd } from '#contract/operations/web.ts'
import { DocumentMissing, type DocumentReader, DocumentUnread } from '#engines/ports/engine.ts'
import { countTokens } from '#engines/tokens/count-tokens.ts'
import { boundedWait } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import { type Call, json, type WholeReply } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { unset, webPiecePrice } from '../web/routes.ts'

/** Returns the text of one document. An unreadable document is free. */
export async function answerTextParser(call: Call, body: TextParserRequest, service: Service): Promise<WholeReply> {
  const { file, response_format: format } = body
  if (file.size > documentBytes) throw fieldError(['file'], `has more than ${documentBytes} bytes`)
  if (file.size === 0) throw fieldError(['file'], 'is empty')
  return sell(call, { model: null, amount: microUsd(augmentMicroUsd) }, service, async () => {
    const bytes = Buffer.from(await file.arrayBuffer())
    const { documents, log } = service
    const text = await readDocument(bytes, { path: ['file'], documents, log, signal: call.signal })
    const reply = replyOf(text, format)
    return { value: reply, lines: [webPiecePrice('document.parse')], alsoCommit: () => call.keep(() => reply) }
  })
}

function replyOf(text: string, format: TextParserRequest['response_format']): WholeReply {
  if (format === 'text') return { kind: 'bytes', mimeType: 'text/plain; charset=utf-8', bytes: Buffer.from(text) }
  return json({ text, tokens: countTokens(text) } satisfies ParsedText)
}

interface Reading {
  /** Where the document is in the request. */
  path: readonly (string | number)[]
  documents: DocumentReader
  log: Log
  signal: AbortSignal
}

/**
 * Reads the text of a document. Throws `invalidRequest` that names the field, and `notSetUp` if a package is missing.
 */
export async function readDocument(bytes: Buffer, { path, documents, log, signal }: Reading): Promise<string> {
  try {
    return await boundedWait(documents.read({ bytes, signal }), { signal })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof DocumentUnread) throw fieldError(path, error.message)
    if (!(error instanceof DocumentMissing)) throw error
    log.warn({ err: error }, 'A document could not be read because a package is missing.')
    throw unset(
      'This service cannot read documents of this type. Send the text itself, or ask its operator to enable it.',
    )
  }
}

import { augmentMicroUsd } from '#contract/augment.ts'
import { microUsd } from '#contract/money.ts'
import { documentBytes, type ParsedText, type TextParserRequest } from '#contract/text-parser.ts'
import { boundedWait } from '../bounded-wait.ts'
import { type Call, json, type WholeReply } from '../call.ts'
import { DocumentMissing, DocumentUnread } from '../engines/documents/document-unread.ts'
import { fieldError } from '../field-error.ts'
import { webPiecePrice } from '../pricing/price-web.ts'
import { sell } from '../sell.ts'
import type { Service } from '../service.ts'
import { countTokens } from '../tokens/count-tokens.ts'
import { unset } from '../web/search-web.ts'

/** The text of one document. One that cannot be read is free. */
export async function answerTextParser(call: Call, body: TextParserRequest, service: Service): Promise<WholeReply> {
  const { file, response_format: format } = body
  if (file.size > documentBytes) throw fieldError(['file'], `has more than ${documentBytes} bytes`)
  if (file.size === 0) throw fieldError(['file'], 'has no bytes')
  return sell(call, { model: null, amount: microUsd(augmentMicroUsd) }, service, async () => {
    const text = await readDocument(Buffer.from(await file.arrayBuffer()), call.signal, service)
    const reply = replyOf(text, format)
    return { value: reply, lines: [webPiecePrice('document.parse')], alsoCommit: () => call.keep(() => reply) }
  })
}

async function readDocument(bytes: Buffer, signal: AbortSignal, { documents, log }: Service): Promise<string> {
  try {
    return await boundedWait(documents.read({ bytes, signal }), { signal })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof DocumentUnread) throw fieldError(['file'], error.message)
    if (!(error instanceof DocumentMissing)) throw error
    log.warn({ err: error }, 'A document could not be read for want of a package.')
    throw unset(
      'Documents of this kind are not set up on this service. Send the text itself, or ask its operator for it.',
    )
  }
}

function replyOf(text: string, format: TextParserRequest['response_format']): WholeReply {
  if (format === 'text') return { kind: 'bytes', mimeType: 'text/plain; charset=utf-8', bytes: Buffer.from(text) }
  return json({ text, tokens: countTokens(text) } satisfies ParsedText)
}

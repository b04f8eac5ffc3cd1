import { fieldError } from '#contract/errors/issues.ts'
import { microUsd } from '#contract/money.ts'
import { documentBytes, type ParsedText, type TextParserRequest } from '#contract/operations/documents.ts'
import { augmentMicroUsd } from '#contract/operations/web.ts'
import { countTokens } from '#engines/tokens/count-tokens.ts'
import { type Call, json, type WholeReply } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { webPiecePrice } from '../web/price-web.ts'
import { readDocument } from './read-document.ts'

/** The text of one document. One that cannot be read is free. */
export async function answerTextParser(call: Call, body: TextParserRequest, service: Service): Promise<WholeReply> {
  const { file, response_format: format } = body
  if (file.size > documentBytes) throw fieldError(['file'], `has more than ${documentBytes} bytes`)
  if (file.size === 0) throw fieldError(['file'], 'has no bytes')
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

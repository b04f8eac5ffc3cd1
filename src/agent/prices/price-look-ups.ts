import { microUsd } from '#contract/money.ts'
import { TextParserRequest } from '#contract/operations/documents.ts'
import type { RpcRequest } from '#contract/operations/rpc.ts'
import { VideoTranscriptionRequest } from '#contract/operations/video-transcription.ts'
import { augmentMicroUsd, WebScrapeRequest, WebSearchRequest } from '#contract/operations/web.ts'
import { hasOtherMembers } from './chat-extras.ts'
import type { Pricer } from './priced-call.ts'
import { rpcBound } from './rpc-bound.ts'

/** What the contract itself prices, one by one (published contract §15). */
const onePiece =
  (what: string, { shape }: { shape: object }): Pricer =>
  async (_parts, call) => ({
    what,
    amountMicroUsd: hasOtherMembers(call as object, shape) ? null : microUsd(augmentMicroUsd),
  })

export const priceSearch = onePiece('A search of the web', WebSearchRequest)
export const priceScrape = onePiece('A page of the web', WebScrapeRequest)
export const priceDocument = onePiece('The text of a document', TextParserRequest)
export const priceVideoTranscript = onePiece('The words of a video', VideoTranscriptionRequest)

export const priceRpc: Pricer = async (_parts, call) => {
  const calls = [call as RpcRequest].flat()
  return {
    what: calls.length === 1 ? 'A call of a blockchain’s node' : `${calls.length} calls of a blockchain’s node`,
    amountMicroUsd: rpcBound(call as RpcRequest),
  }
}

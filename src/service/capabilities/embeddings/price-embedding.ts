import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import type { EmbeddingInput } from '#contract/operations/embeddings.ts'
import { TokenCounter } from '#engines/tokens/count-tokens.ts'
import type { Line } from '#ledger/store/units.ts'
import { embeddingFrameTokens, reportedTokens } from '../../models/bounds.ts'
import type { EmbeddingModel } from '../../models/model.ts'

/** What is embedded into one vector: a text, or tokens. */
type EmbeddingPart = string | readonly number[]

/** One part for each vector that is asked for. */
export function partsOf(input: EmbeddingInput): readonly EmbeddingPart[] {
  if (typeof input === 'string') return [input]
  return isTokens(input) ? [input] : input
}

const isTokens = (input: readonly unknown[]): input is number[] => typeof input[0] === 'number'

/** The most tokens that these parts can have: a byte is never more than one. */
const mostTokens = (parts: readonly EmbeddingPart[]): number => parts.reduce((sum, part) => sum + mostTokensOf(part), 0)

export const mostTokensOf = (part: EmbeddingPart): number =>
  embeddingFrameTokens + (typeof part === 'string' ? Buffer.byteLength(part) : part.length)

/** What is held before the engine is asked; covers every usage that it can honestly report. */
export const embeddingHold = ({ price }: Pick<EmbeddingModel, 'price'>, parts: readonly EmbeddingPart[]): MicroUsd =>
  addUsd(...priceLines([{ units: BigInt(mostTokens(parts)), unitPricePicoUsd: price.inputPicoUsd }]))

interface EmbeddingUsage {
  tokens: number
  counted: 'reported' | 'estimated'
}

/** The engine's word, or our own count where it has none that can be. */
export function embeddingUsage(reported: number | null, parts: readonly EmbeddingPart[]): EmbeddingUsage {
  // No input is empty, so none is no count.
  if (reported && reported <= reportedTokens) return { tokens: reported, counted: 'reported' }
  const counter = new TokenCounter()
  const tokens = parts.reduce((sum, part) => sum + tokensOf(part, counter), 0)
  return { tokens, counted: 'estimated' }
}

export const tokensOf = (part: EmbeddingPart, counter: TokenCounter): number =>
  typeof part === 'string' ? counter.count(part) : part.length

/** The line of a charge; nothing used, no line. */
export function embeddingLines({ price }: Pick<EmbeddingModel, 'price'>, { tokens, counted }: EmbeddingUsage): Line[] {
  if (tokens === 0) return []
  const priced = { units: BigInt(tokens), unitPricePicoUsd: price.inputPicoUsd }
  const sku = counted === 'estimated' ? 'embedding.input.estimated' : 'embedding.input'
  return priceLines([priced]).map(amount => ({ ...priced, sku, amount }))
}

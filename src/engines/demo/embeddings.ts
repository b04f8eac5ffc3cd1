import { setImmediate as turn } from 'node:timers/promises'
import { fieldError } from '#contract/errors/issues.ts'
import { carriesAll, type EmbeddingCall, type EmbeddingEngine, type EmbeddingResult } from '../ports/engine.ts'
import { TokenCounter } from '../tokens/count-tokens.ts'

/** Length of the demonstration's vectors. */
export const demoDimensions = 256

/** Weight of a word's parts relative to the word itself, so that forms of one word are close to each other. */
const partWeight = 0.25

/**
 * Computes vectors from a text's words and their parts: texts that share words are close to each other. It understands
 * nothing, and only demonstrates a request and what a search does with vectors.
 */
export class DemoEmbeddings implements EmbeddingEngine {
  readonly carries = carriesAll

  async embed({ input, dimensions = demoDimensions, signal }: EmbeddingCall): Promise<EmbeddingResult> {
    const texts = typeof input === 'string' ? [input] : input.map(textOf)
    const counter = new TokenCounter()
    const vectors: number[][] = []
    let promptTokens = 0
    for (const text of texts) {
      signal.throwIfAborted()
      vectors.push(vectorOf(text, dimensions))
      promptTokens += counter.count(text)
      // Yields, because the same thread serves other requests.
      await turn()
    }
    return { vectors, promptTokens }
  }
}

function textOf(part: unknown): string {
  if (typeof part === 'string') return part
  throw fieldError(['input'], 'demo-embedding accepts texts only, because it has no tokenizer')
}

function vectorOf(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  const words = text
    .toLowerCase()
    .normalize('NFKC')
    .match(/[\p{L}\p{N}]+/gu) ?? [text]
  for (const word of words) {
    add(vector, word, 1)
    const padded = ` ${word} `
    for (let at = 0; at + 3 <= padded.length; at++) add(vector, padded.slice(at, at + 3), partWeight)
  }
  const length = Math.hypot(...vector)
  return length === 0 ? vector.fill(1 / Math.sqrt(dimensions)) : vector.map(value => value / length)
}

/** Each feature has its own position and sign, so that features that share a position do not add up to similarity. */
function add(vector: number[], feature: string, weight: number): void {
  const hash = hashOf(feature)
  const place = (hash >>> 1) % vector.length
  vector[place] = (vector[place] ?? 0) + (hash & 1 ? weight : -weight)
}

/** FNV-1a plus the last step of MurmurHash3, because FNV's lowest bits alone are too similar. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

import { countTokens, endOfPiece, ordinaryBlanks, tokenizedPieceCharacters } from './count-tokens.ts'

/** What tokenizers never or rarely join: digits, signs, symbols. */
const alone = /[^\p{L}\p{M}\s]/gu
const longBlanks = new RegExp(`\\s{${ordinaryBlanks},}`, 'g')

/**
 * Counts the tokens of a text that is still coming, in the deltas of its engine. Every character is tokenized about once,
 * however small the deltas are, and the count never falls. There is no bound as for a prompt: the work is spread over the
 * stream.
 *
 * The engine's tokenizer is not ours, and its caller chooses the text. So a piece counts as the largest of three: our
 * tokens, one for each delta that it came in, and what tokenizers with small vocabularies make of digits and blanks.
 */
export class RunningCount {
  #counted = 0
  /** What may still become part of a piece that is not whole, and the deltas that ended in it. */
  #rest = ''
  #restDeltas = 0
  #most = 0

  /** One delta. An empty one is a token whose text its engine kept back. */
  push(text: string): void {
    if (!text) {
      this.#counted++
      return
    }
    this.#rest += text
    let deltas = this.#restDeltas
    while (this.#rest.length > tokenizedPieceCharacters) {
      const end = endOfPiece(this.#rest, 0)
      this.#counted += Math.max(textTokens(this.#rest.slice(0, end)), deltas)
      this.#rest = this.#rest.slice(end)
      deltas = 0
    }
    this.#restDeltas = deltas + 1
  }

  /** So far. A word that has only begun counts as one token, because its end may make it fewer than its beginning. */
  get soFar(): number {
    const begun = /\s*\S*$/.exec(this.#rest)?.index ?? 0
    const word = begun < this.#rest.length ? 1 : 0
    const tokens = this.#counted + Math.max(textTokens(this.#rest.slice(0, begun)) + word, this.#restDeltas)
    this.#most = Math.max(this.#most, tokens)
    return this.#most
  }

  /** Of the whole text, when nothing more comes. */
  get whole(): number {
    return Math.max(this.#most, this.#counted + Math.max(textTokens(this.#rest), this.#restDeltas))
  }

  /** As if this delta came and nothing after it. */
  wholeWith(text: string): number {
    return Math.max(this.#most, this.#counted + Math.max(textTokens(this.#rest + text), this.#restDeltas + 1))
  }
}

/** Of a text that was generated and came at once. */
export function countGenerated(text: string): number {
  const count = new RunningCount()
  if (text) count.push(text)
  return count.whole
}

function textTokens(text: string): number {
  if (!text) return 0
  const blanks = text.match(longBlanks)?.reduce((sum, run) => sum + run.length, 0) ?? 0
  return Math.max(countTokens(text), (text.match(alone)?.length ?? 0) + blanks)
}

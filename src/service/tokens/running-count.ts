import { tokenizedPieceCharacters } from './bounds.ts'
import { countTokens, endOfPiece } from './count-tokens.ts'

/**
 * Counts the tokens of a text that is still coming. Every character is tokenized about once, however small the pieces are
 * that it comes in, and the count never falls. There is no bound as for a prompt: the work is spread over the stream.
 */
export class RunningCount {
  #counted = 0
  /** What may still become part of a piece that is not whole. */
  #rest = ''
  #most = 0

  push(text: string): void {
    this.#rest += text
    while (this.#rest.length > tokenizedPieceCharacters) {
      const end = endOfPiece(this.#rest, 0)
      this.#counted += countTokens(this.#rest.slice(0, end))
      this.#rest = this.#rest.slice(end)
    }
  }

  /** So far. A word that has only begun counts as one token, because its end may make it fewer than its beginning. */
  get soFar(): number {
    const begun = /\s*\S*$/.exec(this.#rest)?.index ?? 0
    const whole = this.#rest.slice(0, begun)
    const tokens = this.#counted + (whole ? countTokens(whole) : 0) + (begun < this.#rest.length ? 1 : 0)
    this.#most = Math.max(this.#most, tokens)
    return this.#most
  }

  /** Of the whole text, when nothing more comes. */
  get whole(): number {
    return this.wholeWith('')
  }

  /** As if `text` came and nothing after it. */
  wholeWith(text: string): number {
    const rest = this.#rest + text
    return Math.max(this.#most, this.#counted + (rest ? countTokens(rest) : 0))
  }
}

import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'
import { tokenizedPieceCharacters } from '../tokens/bounds.ts'

export interface Finished {
  /** The text as a stream would bring it; joined it is the whole. */
  pieces: string[]
  tokens: number
  reason: 'stop' | 'length'
  /** The sequence that ended it. */
  stopped: string | null
}

const asText = { disallowedSpecial: new Set<string>() }

/**
 * Ends a text as a model would: at the first stop sequence, or when its tokens are used up, whichever comes first. It is
 * tokenized a word at a time, which is linear, exact for its own count, and gives the pieces of a stream.
 */
export function finishText(text: string, maxTokens: number, stops: readonly string[]): Finished {
  const stop = firstStop(text, stops)
  const wanted = stop ? text.slice(0, stop.at) : text
  const pieces: string[] = []
  let tokens = 0
  for (const word of wordsOf(wanted)) {
    const encoded = encode(word, asText)
    const left = maxTokens - tokens
    if (encoded.length > left) {
      const cut = left > 0 ? whole(decode(encoded.slice(0, left))) : ''
      if (cut) pieces.push(cut)
      return { pieces, tokens: tokens + Math.max(0, left), reason: 'length', stopped: null }
    }
    tokens += encoded.length
    pieces.push(word)
  }
  return { pieces, tokens, reason: 'stop', stopped: stop?.sequence ?? null }
}

/** Words with the space before them; what has no spaces is cut, so that no run is long. */
const wordsOf = (text: string): string[] =>
  (text.match(/\s*\S+|\s+$/gu) ?? []).flatMap(word =>
    word.length <= tokenizedPieceCharacters ? [word] : [...word].reduce(gathered, ['']),
  )

function gathered(pieces: string[], character: string): string[] {
  const last = pieces.at(-1) ?? ''
  if (last.length + character.length > tokenizedPieceCharacters) pieces.push(character)
  else pieces[pieces.length - 1] = last + character
  return pieces
}

/** A character whose bytes were cut between two tokens is left out. */
const whole = (text: string): string => text.replace(/\ufffd+$/u, '')

function firstStop(text: string, stops: readonly string[]): { at: number; sequence: string } | null {
  const found = stops
    .filter(sequence => sequence !== '')
    .map(sequence => ({ sequence, at: text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
  return found.length ? found.reduce((first, each) => (each.at < first.at ? each : first)) : null
}

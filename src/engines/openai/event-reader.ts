import { eventCharacters } from '../bounds.ts'
import { AnswerTooLarge } from '../http/upstream-error.ts'

/** A stream that no reader should hold in memory. */
export class EventTooLong extends AnswerTooLarge {
  constructor() {
    super(`An event of the engine is longer than ${eventCharacters} characters.`)
    this.name = 'EventTooLong'
  }
}

/** Takes a stream of server-sent events in pieces cut anywhere, and gives the data of each event once it is whole. */
export class EventReader {
  readonly #decoder = new TextDecoder()
  /** The beginning of a line whose end has not come. */
  #line = ''
  #data: string | null = null
  #afterReturn = false

  /** Throws `EventTooLong`. */
  push(bytes: Uint8Array): string[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  /** What stands at the end without a blank line after it; servers forget that one. */
  end(): string[] {
    const events = this.#read(`${this.#decoder.decode()}\n\n`)
    this.#data = null
    return events
  }

  #read(text: string): string[] {
    const events: string[] = []
    let at = this.#afterReturn && text.startsWith('\n') ? 1 : 0
    if (text !== '') this.#afterReturn = false
    for (;;) {
      const end = endOfLine(text, at)
      if (end < 0) break
      this.#endLine(text.slice(at, end), events)
      const isReturn = text[end] === '\r'
      at = end + (isReturn && text[end + 1] === '\n' ? 2 : 1)
      this.#afterReturn = isReturn && at === text.length && text[end + 1] === undefined
    }
    this.#line = bounded(this.#line + text.slice(at))
    return events
  }

  #endLine(rest: string, events: string[]): void {
    const line = bounded(this.#line + rest)
    this.#line = ''
    if (line === '') {
      if (this.#data !== null) events.push(this.#data)
      this.#data = null
      return
    }
    const colon = line.indexOf(':')
    // A line that begins with a colon is a comment, and its field's name is empty.
    if ((colon < 0 ? line : line.slice(0, colon)) !== 'data') return
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    this.#data = this.#data === null ? value : bounded(`${this.#data}\n${value}`)
  }
}

const lineEnd = /[\r\n]/g

function endOfLine(text: string, from: number): number {
  lineEnd.lastIndex = from
  return lineEnd.exec(text)?.index ?? -1
}

function bounded(text: string): string {
  if (text.length > eventCharacters) throw new EventTooLong()
  return text
}

/** Characters of one `Forwarded` line that are read: a chain of dozens of proxies. No such line is taken for longer ones. */
const lineCharacters = 4_096

/**
 * Reads the `for` of each element of a `Forwarded` line (RFC 7239), in order; null for an element without one. Returns null
 * for a line that is malformed or too long. Callers write this text, so it is read once from left to right, without any
 * pattern that could backtrack.
 */
export function forwardedFor(line: string): (string | null)[] | null {
  if (line.length > lineCharacters) return null
  const reader = new LineReader(line)
  const found: (string | null)[] = []
  do found.push(readElement(reader))
  while (reader.skip(','))
  return reader.isDone ? found : null
}

/** `for=192.0.2.1;proto=https`: pairs with semicolons between them, any of which may be left out. */
function readElement(reader: LineReader): string | null {
  let found: string | null = null
  do {
    reader.skipBlanks()
    const name = reader.token()
    if (name) {
      const value = reader.skip('=') ? reader.value() : reader.fail()
      if (name.toLowerCase() === 'for') {
        // A second one in the same element is forbidden, and nobody can tell which of them a proxy wrote.
        if (found !== null) reader.fail()
        found = value
      }
    }
    reader.skipBlanks()
  } while (reader.skip(';'))
  return found
}

const tokenCharacter = /[!#$%&'*+.^_`|~\w-]/

/** Only moves forward; after the first mistake nothing is read any more. */
class LineReader {
  readonly #line: string
  #at = 0
  #isMalformed = false

  constructor(line: string) {
    this.#line = line
  }

  /** Whether all of the line was read without a mistake. */
  get isDone(): boolean {
    return !this.#isMalformed && this.#at === this.#line.length
  }

  fail(): string {
    this.#isMalformed = true
    this.#at = this.#line.length
    return ''
  }

  skip(character: string): boolean {
    if (this.#line[this.#at] !== character) return false
    this.#at++
    return true
  }

  skipBlanks(): void {
    while (this.skip(' ') || this.skip('\t'));
  }

  /** Empty where none begins here. */
  token(): string {
    const start = this.#at
    while (this.#at < this.#line.length && tokenCharacter.test(this.#line.charAt(this.#at))) this.#at++
    return this.#line.slice(start, this.#at)
  }

  /** A token, or a quoted string without its quotes and escapes. */
  value(): string {
    return this.skip('"') ? this.#quoted() : this.token() || this.fail()
  }

  #quoted(): string {
    let text = ''
    while (this.#at < this.#line.length) {
      if (this.skip('"')) return text
      this.skip('\\')
      text += this.#line.charAt(this.#at++)
    }
    return this.fail()
  }
}

import { BlockList, isIP } from 'node:net'
import type { HeaderReader } from '#contract/wire/header-codec.ts'

/** Parses an address, or a network in CIDR notation. Null if the text is neither. */
export function readNetwork(text: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | null {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (!version || address.includes('%') || more.length) return null
  const most = version === 4 ? 32 : 128
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return null
  const prefix = bits === undefined ? most : Number(bits)
  return prefix <= most ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : null
}

/**
 * Finds the caller's address behind proxies that the operator trusts. Without trusted proxies, headers about callers
 * are ignored.
 */
export class TrustedProxies {
  readonly #networks: BlockList | null

  /** Takes addresses and networks in the form of `readNetwork`. Throws a sentence for any other. */
  constructor(networks: readonly string[]) {
    this.#networks = networks.length ? new BlockList() : null
    for (const text of networks) {
      const network = readNetwork(text)
      if (!network)
        throw new Error(`${JSON.stringify(text)} is not an address or a network; write it as 10.0.0.0/8 or ::1.`)
      this.#networks?.addSubnet(network.address, network.prefix, network.family)
    }
  }

  /**
   * Returns the caller's address. Headers count only from a trusted peer and are read from the right: each entry was
   * written by the proxy after it, so the first entry that is not a trusted proxy is the caller. An invalid entry ends
   * the search, because the entries before it cannot be trusted.
   */
  callerOf(peer: string, header: HeaderReader): string {
    if (!this.#networks || !this.#isTrusted(peer)) return peer
    const lists = [header('x-forwarded-for').map(plainEntries), header('forwarded').map(forwardedEntries)]
    const said = lists.flatMap(list => (list.length ? [this.#walk(peer, list.flat())] : []))
    const [first = peer] = said
    // A proxy may write one of the two headers and pass on a forged other one; if they differ, neither is trusted.
    return said.every(each => each === first) ? first : peer
  }

  #walk(peer: string, entries: readonly (string | null)[]): string {
    let caller = peer
    for (const entry of entries.toReversed()) {
      if (entry === null) break
      caller = entry
      if (!this.#isTrusted(caller)) break
    }
    return caller
  }

  #isTrusted(address: string): boolean {
    const plain = plainAddress(address)
    return plain !== null && this.#networks?.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6') === true
  }
}

/** Returns the address without a zone, and an IPv4-mapped one as IPv4. Null if it is not an address. */
function plainAddress(text: string): string | null {
  const [address = ''] = text.split('%')
  if (!isIP(address)) return null
  return /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1] ?? address
}

/** `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`; null for anything else. */
function addressOf(text: string): string | null {
  const bare = /^\[([\da-f:.]+)\](?::\d{1,5})?$/i.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
  return bare.includes('%') ? null : plainAddress(bare)
}

const plainEntries = (value: string): (string | null)[] => value.split(',').map(entry => addressOf(entry.trim()))

/** A malformed line counts as one invalid entry. */
const forwardedEntries = (line: string): (string | null)[] =>
  (forwardedFor(line) ?? [null]).map(entry => (entry === null ? null : addressOf(entry)))

/** Longest `Forwarded` line to read: a chain of dozens of proxies. A longer one counts as invalid. */
const lineCharacters = 4_096

/**
 * Reads the `for` of each element of a `Forwarded` line (RFC 7239), in order; null for an element without one. Returns
 * null for a malformed or overlong line. Callers control this text, so it is read once from left to right, without any
 * pattern that could backtrack.
 */
function forwardedFor(line: string): (string | null)[] | null {
  if (line.length > lineCharacters) return null
  const reader = new LineReader(line)
  const found: (string | null)[] = []
  do found.push(readElement(reader))
  while (reader.skip(','))
  return reader.isDone ? found : null
}

/** `for=192.0.2.1;proto=https`: pairs separated by semicolons, any of which may be empty. */
function readElement(reader: LineReader): string | null {
  let found: string | null = null
  do {
    reader.skipBlanks()
    const name = reader.token()
    if (name) {
      const value = reader.skip('=') ? reader.value() : reader.fail()
      if (name.toLowerCase() === 'for') {
        // A second `for` in one element is forbidden, and it is unknown which of them a proxy wrote.
        if (found !== null) reader.fail()
        found = value
      }
    }
    reader.skipBlanks()
  } while (reader.skip(';'))
  return found
}

const tokenCharacter = /[!#$%&'*+.^_`|~\w-]/

/** Only moves forward; after the first mistake it reads nothing more. */
class LineReader {
  readonly #line: string
  #at = 0
  #isMalformed = false

  constructor(line: string) {
    this.#line = line
  }

  /** Whether the whole line was read without a mistake. */
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

  /** Returns the token that starts here, or an empty string. */
  token(): string {
    const start = this.#at
    while (this.#at < this.#line.length && tokenCharacter.test(this.#line.charAt(this.#at))) this.#at++
    return this.#line.slice(start, this.#at)
  }

  /** Returns a token, or a quoted string without its quotes and escapes. */
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

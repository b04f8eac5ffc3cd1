import { Buffer } from 'node:buffer'

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Decodes a base58 text if it has exactly this many bytes; otherwise null. */
export function decodeBase58(text: string, bytes: number): Uint8Array | null {
  // 138 characters encode 100 bytes: a longer text is refused before any arithmetic.
  if (text.length > Math.ceil(bytes * 1.38)) return null
  let value = 0n
  for (const character of text) {
    const digit = alphabet.indexOf(character)
    if (digit < 0) return null
    value = value * 58n + BigInt(digit)
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0
  const hex = value === 0n ? '' : value.toString(16)
  const tail = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
  return zeros + tail.length === bytes ? Buffer.concat([Buffer.alloc(zeros), tail]) : null
}

/** Encodes bytes as Solana writes addresses, keys and signatures. */
export function encodeBase58(bytes: Uint8Array): string {
  let text = ''
  for (let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`); value > 0n; value /= 58n) {
    text = `${alphabet[Number(value % 58n)]}${text}`
  }
  const zeros = bytes.findIndex(byte => byte !== 0)
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text
}

import { expect, test } from 'vitest'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { canaries } from './canaries.ts'
import { canaryIn, PieceSearch } from './search.ts'

const forms: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  bytes: bytes => bytes,
  hex: bytes => Buffer.from(Buffer.from(bytes).toString('hex')),
  'hex in capitals': bytes => Buffer.from(Buffer.from(bytes).toString('hex').toUpperCase()),
  base58: bytes => Buffer.from(encodeBase58(bytes)),
  base64: bytes => Buffer.from(Buffer.from(bytes).toString('base64')),
  base64url: bytes => Buffer.from(Buffer.from(bytes).toString('base64url')),
  'base64 within more': bytes =>
    Buffer.from(Buffer.concat([Buffer.from('{"a'), bytes, Buffer.from('"}')]).toString('base64')),
  'half of it': bytes => bytes.subarray(0, bytes.length - 1),
}

const rows = Object.entries(canaries).flatMap(([name, bytes]) =>
  Object.entries(forms).map(([form, write]) => [name, form, write(bytes)] as const),
)

test.each(rows)('%s is found as %s, wherever it is', (name, _form, written) => {
  for (let before = 0; before < 40; before++) {
    const all = Buffer.concat([Buffer.alloc(before, 'x'), written, Buffer.alloc(40 - before, 'y')])
    expect(canaryIn(all)).toBe(name)
    const search = new PieceSearch()
    const pieces = Array.from({ length: Math.ceil(all.length / 7) }, (_, at) => all.subarray(7 * at, 7 * at + 7))
    expect(pieces.map(piece => search.next(piece))).toContain(name)
  }
})

test('other text is not found', () => {
  expect(canaryIn(Buffer.from('a canary of tests: the passphrase '.repeat(1000)))).toBe(null)
  expect(canaryIn(Buffer.alloc(100_000))).toBe(null)
})

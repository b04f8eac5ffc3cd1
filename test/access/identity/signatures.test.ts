import { generateKeyPairSync, sign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { ed25519Key, ed25519Signature, isSignedByKey } from '#host/signatures/signatures.ts'
import { encodeBase58 } from './base58-encoder.ts'

describe('Solana', () => {
  const pair = generateKeyPairSync('ed25519')
  const raw = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const address = encodeBase58(raw)
  const signature = sign(null, Buffer.from('a text ✓'), pair.privateKey)

  test('a signature over the UTF-8 text, as base58 or base64', async () => {
    const key = ed25519Key(address)
    expect(key).toEqual(raw)
    for (const text of [encodeBase58(signature), signature.toString('base64')]) {
      const bytes = ed25519Signature(text)
      expect(bytes).not.toBeNull()
      expect(key && bytes && (await isSignedByKey(key, 'a text ✓', bytes))).toBe(true)
      expect(key && bytes && (await isSignedByKey(key, 'a text', bytes))).toBe(false)
    }
  })

  test('A7: an s beyond the order is refused', async () => {
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
    const larger = Buffer.from((s + order).toString(16).padStart(64, '0'), 'hex').reverse()
    expect(await isSignedByKey(raw, 'a text ✓', Buffer.concat([signature.subarray(0, 32), larger]))).toBe(false)
  })

  test.each([
    ['unpadded base64', signature.toString('base64').slice(0, -2)],
    ['base64 with loose bits', `${signature.toString('base64').slice(0, -3)}B==`],
    ['base64 of 63 bytes', signature.subarray(1).toString('base64')],
    ['base58 of 65 bytes', encodeBase58(Buffer.concat([signature, signature.subarray(0, 1)]))],
    ['base58 with a zero byte before', `1${encodeBase58(signature)}`],
    ['a letter that base58 does not have', `0${encodeBase58(signature).slice(1)}`],
    ['nothing', ''],
  ])('A7: %s is not a signature', (_what, text) => {
    expect(ed25519Signature(text)).toBeNull()
  })

  const orderEight = '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'
  const otherOrderEight = 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'

  test.each([
    ['of order 1', `01${'00'.repeat(31)}`],
    ['of order 2', `ec${'ff'.repeat(30)}7f`],
    ['of order 4', '00'.repeat(32)],
    ['of order 4, the other', `${'00'.repeat(31)}80`],
    ['of order 8', orderEight],
    ['of order 8, the second', `${orderEight.slice(0, 62)}85`],
    ['of order 8, the third', otherOrderEight],
    ['of order 8, the fourth', `${otherOrderEight.slice(0, 62)}fa`],
  ])('A7: a key %s is refused: older OpenSSL accepts forged signatures of it', (_what, hex) => {
    expect(ed25519Key(encodeBase58(Buffer.from(hex, 'hex')))).toBeNull()
  })

  test('A7: a second spelling of a key is refused', () => {
    // y = p + 3, which reads as 3.
    expect(ed25519Key(encodeBase58(Buffer.from(`f0${'ff'.repeat(30)}7f`, 'hex')))).toBeNull()
  })

  test('bytes that are not a point verify nothing', async () => {
    expect(await isSignedByKey(Buffer.alloc(32, 0xab), 'a text', signature)).toBe(false)
  })
})

test('base58 read back is what was written, and any other text is nothing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
      expect(decodeBase58(encodeBase58(bytes), 32)).toEqual(Buffer.from(bytes))
    }),
  )
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), text => {
      const bytes = decodeBase58(text, 32)
      if (bytes) expect(encodeBase58(bytes)).toBe(text)
    }),
  )
})

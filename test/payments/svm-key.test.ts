/** Our own keys on Solana, and whose signatures are taken. */
import { describe, expect, test } from 'vitest'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { isSignedBy, SolanaKey } from '#payments/solana/solana-key.ts'
import { newSvmAccount } from './svm-chain.ts'

describe('a key of ours', () => {
  test('is read from base58 of both halves, signs as kit does, and is never shown', async () => {
    const { secretKey, signer } = await newSvmAccount()
    const key = new SolanaKey(secretKey)
    expect(key.address).toBe(signer.address)
    const message = Buffer.from('what both sign')
    const reference = await crypto.subtle.sign('Ed25519', signer.keyPair.privateKey, message)
    expect(Buffer.from(key.sign(message))).toEqual(Buffer.from(reference))
    expect(JSON.stringify(key)).not.toContain(secretKey)
  })

  test.each([
    ['an address', async () => (await newSvmAccount()).address],
    ['a hexadecimal key', async () => `0x${'11'.repeat(32)}`],
    ['nothing', async () => ''],
    [
      'the secret half of one and the public half of another',
      async () => {
        const [one, other] = await Promise.all([newSvmAccount(), newSvmAccount()])
        const halves = [one, other].map(({ secretKey }) => decodeBase58(secretKey, 64) ?? new Uint8Array())
        return encodeBase58(
          Buffer.concat([halves[0]?.subarray(0, 32) ?? '', halves[1]?.subarray(32) ?? ''] as Uint8Array[]),
        )
      },
    ],
  ])('%s is refused in a sentence that does not repeat it', async (_what, text) => {
    const given = await text()
    const refused = () => new SolanaKey(given)
    expect(refused).toThrow(/\.$/)
    if (given) expect(refused).not.toThrow(given)
  })
})

describe('a signature', () => {
  const message = Buffer.from('what both sign')

  test('is that of the owner of an address over these bytes, and of no other', async () => {
    const [one, other] = await Promise.all([newSvmAccount(), newSvmAccount()])
    const signature = one.key.sign(message)
    expect(isSignedBy(one.address, message, signature)).toBe(true)
    expect(isSignedBy(other.address, message, signature)).toBe(false)
    expect(isSignedBy(one.address, Buffer.from('something else'), signature)).toBe(false)
    expect(isSignedBy(one.address, message, signature.subarray(1))).toBe(false)
  })

  const of = (byte: number, last = 0) => encodeBase58(Uint8Array.of(byte, ...Array(30).fill(0), last))
  test.each([
    ['a text that is not an address', 'nobody'],
    ['an address of 31 bytes', encodeBase58(new Uint8Array(31).fill(1))],
    ['a point with forgeable signatures', of(1)],
    ['bytes that are no point', of(2)],
    ['a point that is spelled beyond the field', encodeBase58(new Uint8Array(32).fill(255))],
  ])('belongs to no address for %s', (_rule, address) => {
    const zeros = Buffer.concat([Buffer.of(1), Buffer.alloc(63)])
    expect(isSignedBy(address, message, zeros)).toBe(false)
  })
})

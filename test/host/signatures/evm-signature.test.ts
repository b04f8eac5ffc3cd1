/** Whose signature it is, by every way to recover a key, and by viem beside them. */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { type Hex, hashMessage, recoverAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  evmSigners,
  evmSignersBy,
  hasLowS,
  isEvmSignature,
  keyRecovery,
  recoveries,
} from '#host/signatures/evm-signature.ts'

const account = privateKeyToAccount(generatePrivateKey())
const address = account.address.toLowerCase()

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const field = 2n ** 256n - 2n ** 32n - 977n
const word = (value: bigint): string => value.toString(16).padStart(64, '0')
/** `x` of the curve's base point; the key of a signature with it as `r` follows from `s` and the digest alone. */
const baseX = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n
const digest = '11'.repeat(32)
const s = word(7n)

/** What viem says of it. */
async function byViem(hash: Hex, signature: string): Promise<string | null> {
  if (!hasLowS(signature)) return null
  return recoverAddress({ hash, signature: signature as Hex }).then(
    signer => signer.toLowerCase(),
    () => null,
  )
}

interface Vector {
  hash: string
  signature: string
}
const vector = (r: bigint, lowS: bigint, bit: string, hash: string = digest): Vector => ({
  hash,
  signature: `0x${word(r)}${word(lowS)}${bit}`,
})

/** Belongs to no address, whatever was signed. */
const nobodys: [rule: string, vector: Vector][] = [
  ['r is zero', vector(0n, 7n, '1b')],
  ['s is zero', vector(baseX, 0n, '1b')],
  ['r is the order', vector(order, 7n, '1b')],
  ['r is above the order, and a point’s x all the same', vector(order + 2n, 7n, '1b')],
  ['r is the field’s size', vector(field, 7n, '1b')],
  ['r is the largest number', vector(2n ** 256n - 1n, 7n, '1b')],
  ['r is not the x of a point', vector(5n, 7n, '1b')],
  ['r is not the x of a point, with the other bit', vector(5n, 7n, '1c')],
  ['s is the smallest high one', vector(baseX, order / 2n + 1n, '1b')],
  ['s is the order less one', vector(baseX, order - 1n, '1b')],
  ['s is the order', vector(baseX, order, '1b')],
  ['s is the largest number', vector(baseX, 2n ** 256n - 1n, '1b')],
  ['the key would be the point at infinity', vector(baseX, 7n, '1b', word(7n))],
  ...['02', '03', '04', '1a', '1d', '1e', '23', '25', '26', '80', 'ff'].map((bit): [string, Vector] => [
    `the last byte is ${bit}`,
    vector(baseX, 7n, bit),
  ]),
]

/** Some key's. */
const somebodys: [rule: string, vector: Vector][] = [
  ['s is one', vector(baseX, 1n, '1b')],
  ['s is the largest low one', vector(baseX, order / 2n, '1c')],
  ['r is one', vector(1n, 7n, '1b')],
  ['r is one, with the other bit', vector(1n, 7n, '1c')],
  ['the last byte is 00', vector(baseX, 7n, '00')],
  ['the last byte is 01', vector(baseX, 7n, '01')],
  ['the digest is zero', vector(baseX, 7n, '1b', word(0n))],
  ['the digest is the order', vector(baseX, 7n, '1b', word(order))],
  ['the digest is above the order', vector(baseX, 7n, '1b', 'ff'.repeat(32))],
  ['the point at infinity is far with the other bit', vector(baseX, 7n, '1c', word(7n))],
]

/** No text of 65 bytes in hexadecimal. */
const malformed: [rule: string, signature: string][] = [
  ['nothing', ''],
  ['a prefix alone', '0x'],
  ['64 bytes, as EIP-2098 writes them', `0x${word(baseX)}${s}`],
  ['66 bytes', `0x${word(baseX)}${s}1b00`],
  ['half a byte more', `0x${word(baseX)}${s}1b0`],
  ['half a byte less', `0x${word(baseX)}${s}1`],
  ['no prefix', `${word(baseX)}${s}1b`],
  ['a capital prefix', `0X${word(baseX)}${s}1b`],
  ['no hexadecimal', `0x${'zz'.repeat(65)}`],
  ['a space at its end', `0x${word(baseX)}${s}1b `],
  ['a new line at its end', `0x${word(baseX)}${s}1b\n`],
  ['the name of a member that every object has', `0x${'0'.repeat(128)}__proto__`],
]

const ways = [
  ['the addon', recoveries.addon, ['curve-addon']],
  ['WebAssembly', recoveries.wasm, []],
  ['JavaScript', recoveries.script, []],
] as const

describe.each(ways)('by %s', (_name, open, tags) => {
  const options = { tags: [...tags] }
  const signers = async () => evmSignersBy(await open())
  const signerOf = async ({ hash, signature }: Vector) =>
    (await signers()).ofDigest(Buffer.from(hash, 'hex'), signature)

  test.each(nobodys)('A7: it belongs to no address if %s', options, async (_rule, each) => {
    expect(await signerOf(each)).toBeNull()
    expect(await byViem(`0x${each.hash}`, each.signature)).toBeNull()
  })

  test.each(somebodys)('it is some key’s where %s', options, async (_rule, each) => {
    const signer = await byViem(`0x${each.hash}`, each.signature)
    expect(signer).toMatch(/^0x[\da-f]{40}$/)
    expect(await signerOf(each)).toBe(signer)
  })

  test.each(malformed)('A7: it belongs to no address if it has %s', options, async (_rule, signature) => {
    expect(isEvmSignature(signature)).toBe(false)
    const { ofDigest, ofMessage } = await signers()
    expect([ofDigest(Buffer.from(digest, 'hex'), signature), ofMessage('a text', signature)]).toEqual([null, null])
  })

  test('who signed a text is recovered, with either spelling of the bit and of the letters', options, async () => {
    const { ofMessage } = await signers()
    const signature = await account.signMessage({ message: 'a text' })
    const bit = Number.parseInt(signature.slice(130), 16) - 27
    const spellings = [signature, `${signature.slice(0, 130)}0${bit}`, `0x${signature.slice(2).toUpperCase()}`]
    expect(spellings.map(each => ofMessage('a text', each))).toEqual([address, address, address])
    expect(ofMessage('another text', signature)).not.toBe(address)
  })

  test('A7: the twin of a signature, with a high s, belongs to no address', options, async () => {
    const signature = await account.signMessage({ message: 'a text' })
    const other = word(order - BigInt(`0x${signature.slice(66, 130)}`))
    const twin = `${signature.slice(0, 66)}${other}${signature.endsWith('1b') ? '1c' : '1b'}`
    expect((await signers()).ofMessage('a text', twin)).toBeNull()
  })

  test('any text: the address that viem finds', options, async () => {
    const { ofMessage } = await signers()
    const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 400 }), fc.constant('\ud800 alone'))
    await fc.assert(
      fc.asyncProperty(texts, async message => {
        const signature = await account.signMessage({ message })
        expect(ofMessage(message, signature)).toBe(await byViem(hashMessage(message), signature))
      }),
      { numRuns: 20 },
    )
  })

  test('any bytes: the same address as viem, or none', options, async () => {
    const { ofDigest } = await signers()
    for (let times = 0; times < 60; times++) {
      const bytes = randomBytes(65)
      // Half of them have an `s` that would be looked at, and a bit that means a key.
      if (times % 2) bytes[32] = (bytes[32] ?? 0) >> 1
      if (times % 2) bytes[64] = 27 + (times % 4 === 1 ? 0 : 1)
      const signature = `0x${bytes.toString('hex')}`
      const hash = randomBytes(32)
      expect(ofDigest(hash, signature)).toBe(await byViem(`0x${hash.toString('hex')}`, signature))
    }
  })
})

test('the addon comes first, without its install script having run', { tags: ['curve-addon'] }, async () => {
  expect((await keyRecovery()).by).toBe('addon')
})

test('the signers of the process are there once, and know a signature', async () => {
  const signature = await account.signMessage({ message: 'a text' })
  const first = await evmSigners()
  expect(await evmSigners()).toBe(first)
  expect(first.ofMessage('a text', signature)).toBe(address)
})

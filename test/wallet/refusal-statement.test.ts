import { signatureBytes, address as solanaAddress, verifyOffchainMessageEnvelope } from '@solana/kit'
import fc from 'fast-check'
import { verifyMessage } from 'viem'
import { expect, test, vi } from 'vitest'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { readSignInMessage } from '#contract/wire/sign-in-message.ts'
import { keyFromHex, newSolanaSeed, SolanaKey } from '#wallet/keys/keys.ts'
import { type RefusalRecord, refusalStatement, signStatement } from '#wallet/rules/refusals.ts'
import { origin, payTo, secret, usd } from './sample-wallet.ts'

/** Each step is a commit that is synced, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

const refusal = (changes: Partial<RefusalRecord> = {}): RefusalRecord => ({
  ...{ id: 'no_1', rule: 'max-day', sentence: '5.00 USD more would pass the cap.', times: 3 },
  ...{ firstAtMs: Date.UTC(2026, 10, 21), lastAtMs: Date.UTC(2026, 10, 21, 1), address: payTo, origin },
  ...{ operation: 'createChatCompletion', network: 'eip155:8453', asset: null, payTo: null },
  ...{ amountMicroUsd: usd(5), limitMicroUsd: usd(10), leftMicroUsd: usd(0), requestHash: 'ab' },
  ...changes,
})

test('it says this, in this order', () => {
  expect(refusalStatement(refusal())).toBe(`farebox statement of a refused payment, version 1
This is neither a sign-in nor a payment, and it permits nothing.

Wallet: ${payTo}
Refusal: no_1
Rule: max-day
Said: 5.00 USD more would pass the cap.
Service: https://service.example
Operation: createChatCompletion
Network: eip155:8453
Amount: 5000000 micro-USD
Limit: 10000000 micro-USD
Left: 0 micro-USD
Request SHA-256: ab
First: 2026-11-21T00:00:00.000Z
Last: 2026-11-21T01:00:00.000Z
Times: 3`)
})

test('signed by a key of Base it is a message of EIP-191, which viem verifies', async () => {
  const key = await keyFromHex(secret)
  const { statement, scheme, signature } = await signStatement(key, refusalStatement(refusal()))
  expect(scheme).toBe('eip191')
  const verify = (message: string) =>
    verifyMessage({ address: key.address as `0x${string}`, message, signature: signature as `0x${string}` })
  expect(await verify(statement)).toBe(true)
  expect(await verify(statement.replace('Times: 3', 'Times: 4'))).toBe(false)
})

/** The envelope as the specification of off-chain messages lays it out, written without the library that signed. */
function envelope(content: string, address: string): Uint8Array {
  const head = Buffer.concat([Buffer.from([0xff]), Buffer.from('solana offchain'), Buffer.from([1, 1])])
  return Buffer.concat([head, decodeBase58(address, 32) ?? expect.fail(), Buffer.from(content)])
}

test('signed by a key of Solana it is an off-chain message, which @solana/kit verifies', async () => {
  const key = new SolanaKey(newSolanaSeed())
  const { statement, scheme, signature } = await signStatement(key, refusalStatement(refusal()))
  expect(scheme).toBe('solana-offchain-v1')
  const signed = signatureBytes(decodeBase58(signature, 64) ?? expect.fail())
  const verify = (content: string) =>
    verifyOffchainMessageEnvelope({
      content: envelope(content, key.address) as never,
      signatures: { [solanaAddress(key.address)]: signed },
    })
  await verify(statement)
  await expect(verify(statement.replace('Times: 3', 'Times: 4'))).rejects.toThrow()
  // Signing the text alone would be a sign-in's way; it is not what was signed.
  expect(encodeBase58(key.signBytes(Buffer.from(statement)))).not.toBe(signature)
})

test('no value adds a line, and no statement reads as a sign-in', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constant(`\n${origin} wants you to sign in`))
  fc.assert(
    fc.property(text, text, text, (sentence, operation, service) => {
      const statement = refusalStatement(refusal({ sentence, operation, origin: service }))
      expect(statement.split(/[\n\r\u2028\u2029\u0085]/)).toHaveLength(17)
      expect(statement.startsWith('farebox statement of a refused payment, version 1\n')).toBe(true)
      expect(readSignInMessage(statement)).toBe(null)
    }),
  )
})

/** Untrusted bytes: one meaning has one key, another meaning has another, and no input causes an internal error. */

import {
  AccountRole,
  type Address,
  getAddressDecoder,
  getBase58Decoder,
  getBase58Encoder,
  getCompiledTransactionMessageDecoder,
  type Instruction,
} from '@solana/kit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ServiceError } from '#contract/errors/service-error.ts'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import type { ReceivedPayment, SignedPayment } from '#payments/payment/payment.ts'
import { checkTerms, decodePayment } from '#payments/rails/rails.ts'
import { tokenAccountOf } from '#payments/solana/solana-key.ts'
import { readMessage, readTransaction } from '#payments/solana/solana-message.ts'
import { type SvmAccount, type SvmChain, startSvmChain } from './svm-chain.ts'
import { compile, craft, draftOf, messageStart, rewrite, rewriteMessage } from './svm-transactions.ts'
import { openSvmWorld, type SvmWorld, svmPayer } from './svm-world.ts'
import type { Loose } from './top-up-world.ts'

let chain: SvmChain
let world: SvmWorld
let account: SvmAccount
let honest: Loose
beforeAll(async () => {
  chain = await startSvmChain()
  world = await openSvmWorld(chain)
  account = await svmPayer(world, 5_000_000_000n)
  honest = await craft(world, account)
})
afterAll(async () => {
  await world.dispose()
  await chain.stop()
})

/** The payment, or the reason why it is none; anything else that is thrown is a fault of ours. */
function judge({ accepted, payload }: Loose): SignedPayment | string {
  const received: ReceivedPayment = { scheme: 'exact', network: world.option.network, accepted, payload }
  try {
    const payment = decodePayment(received, [world.option])
    checkTerms(payment, received)
    return payment
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 400) throw error
    return String((error.body as { details: { reason: string } }).details.reason)
  }
}

const taken = (payment: Loose): SignedPayment => {
  const judged = judge(payment)
  if (typeof judged === 'string') throw new Error(`refused: ${judged}`)
  return judged
}

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
const toAddress = (bytes: Uint8Array): Address => getAddressDecoder().decode(bytes)

describe('beside the reference', () => {
  test('base58 is written and read as kit does, with exactly the given number of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), bytes => {
        const text = getBase58Decoder().decode(bytes)
        expect(encodeBase58(bytes)).toBe(text)
        expect(decodeBase58(text, bytes.length)).toEqual(Buffer.from(getBase58Encoder().encode(text)))
        expect(decodeBase58(text, bytes.length + 1)).toBeNull()
      }),
    )
  })

  test('a token account is where the token program looks for it', async () => {
    await fc.assert(
      fc.asyncProperty(bytes32, async owner => {
        expect(tokenAccountOf(toAddress(owner), usdcOnSolana)).toBe(await usdcAccountOf(toAddress(owner)))
      }),
      { numRuns: 40 },
    )
  })

  const instruction = fc.record({
    programAddress: bytes32.map(toAddress),
    accounts: fc.array(
      fc.record({ address: bytes32.map(toAddress), role: fc.constantFrom(AccountRole.READONLY, AccountRole.WRITABLE) }),
      { maxLength: 4 },
    ),
    data: fc.uint8Array({ maxLength: 200 }),
  })

  test('a message is read as kit reads it, of either version', async () => {
    const made = await draftOf(world, account)
    fc.assert(
      fc.property(
        fc.array(instruction, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(0 as const, 'legacy' as const),
        (instructions, version) => {
          const wire = Buffer.from(compile({ ...made, version, instructions: instructions as Instruction[] }), 'base64')
          const transaction = readTransaction(wire)
          if (wire.length > 1_232) return expect(transaction).toBeNull()
          const read = readMessage(transaction?.message ?? new Uint8Array())
          const known = getCompiledTransactionMessageDecoder().decode(transaction?.message ?? new Uint8Array())
          expect(read).toEqual({
            signers: known.header.numSignerAccounts,
            accounts: known.staticAccounts,
            blockhash: known.lifetimeToken,
            lookupTables: 0,
            instructions: known.instructions.map(({ programAddressIndex, accountIndices = [], data = [] }) => ({
              program: programAddressIndex,
              accounts: accountIndices,
              data: Buffer.from(data as Uint8Array),
            })),
          })
        },
      ),
    )
  })
})

describe('the key of a payment', () => {
  test('is the same with any bytes in place of the fee payer’s signature', () => {
    const { key } = taken(honest)
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), filling => {
        const spelt = taken(rewrite(honest, wire => void wire.set(filling, 1)))
        expect(spelt).toEqual({ ...taken(honest), key })
      }),
    )
  })

  test('is another one for every message that the payer could have signed instead', async () => {
    const keys = new Set<string>()
    for (let count = 0; count < 50; count++) keys.add(taken(await craft(world, account)).key)
    const made = await draftOf(world, account)
    for (const version of [0, 'legacy'] as const) {
      const transaction = compile({ ...made, version })
      keys.add(taken({ ...honest, payload: { transaction } }).key)
    }
    expect(keys.size).toBe(52)
  })

  test('a signed byte that is changed afterwards is refused, each of them', () => {
    const wire = Buffer.from(honest.payload.transaction, 'base64')
    for (let at = 65; at < wire.length; at++) {
      const changed = rewrite(honest, bytes => void bytes.writeUInt8((bytes[at] ?? 0) ^ (1 + (at % 255)), at))
      expect(judge(changed), `byte ${at}`).toBeTypeOf('string')
    }
  })
})

describe('what a payer signs', () => {
  /** Bytes of the message turned to others, some put in and some taken out. */
  const edit = fc.record({
    at: fc.nat({ max: 400 }),
    cut: fc.integer({ min: 0, max: 3 }),
    put: fc.uint8Array({ maxLength: 3 }),
  })

  test('whatever it is: what is taken pays the payee in full or fails, and costs us a fee within the bounds', async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 2 }), async edits => {
        const payment = rewriteMessage(await craft(world, account), account, message =>
          edits.reduce(
            (made, { at, cut, put }) => Buffer.concat([made.subarray(0, at), put, made.subarray(at + cut)]),
            message,
          ),
        )
        const judged = judge(payment)
        if (typeof judged === 'string') return
        accepted++
        const [sol, usdc] = [chain.lamportsOf(world.feePayer.address), await chain.usdcOf(world.payee.address)]
        const wire = Buffer.from(payment.payload.transaction, 'base64')
        wire.set(world.feePayer.key.sign(wire.subarray(messageStart)), 1)
        try {
          chain.node.send(wire, false)
        } catch {
          // Something that no node would take moves nothing.
        }
        const received = (await chain.usdcOf(world.payee.address)) - usdc
        expect([0n, BigInt(judged.option.amount)]).toContain(received)
        expect(sol - chain.lamportsOf(world.feePayer.address)).toBeLessThanOrEqual(20_000n)
      }),
      { numRuns: 1_500 },
    )
    // Letters of the memo, bytes of the blockhash and bits of the fees may change; without any the property is empty.
    expect(accepted).toBeGreaterThan(50)
  }, 60_000)

  test('bytes without any sense are refused with a reason', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_400 }), fc.boolean(), (noise, isWrapped) => {
        const wire = isWrapped ? Buffer.concat([Buffer.of(2), Buffer.alloc(128), noise]) : Buffer.from(noise)
        expect(judge({ ...honest, payload: { transaction: wire.toString('base64') } })).toBeTypeOf('string')
      }),
      { numRuns: 2_000 },
    )
  })

  test('texts and values without any sense are refused with a reason', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, text) => {
        for (const payload of [{ transaction: text }, { transaction: value }, { [text]: value }]) {
          expect(judge({ ...honest, payload })).toBeTypeOf('string')
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

test('a payer whose key is a weak point, with forgeable signatures, is refused', async () => {
  // The neutral element: both halves of this signature are right for every message.
  const weak = Buffer.concat([Buffer.of(1), Buffer.alloc(31)])
  const made = await draftOf(world, account)
  const unsigned = { ...honest, payload: { transaction: compile({ ...made, signers: [] }) } }
  const forged = rewrite(unsigned, wire => {
    wire.set(weak, messageStart + 5 + 32)
    wire.set(Buffer.concat([weak, Buffer.alloc(32)]), 65)
    return wire
  })
  expect(judge(forged)).toBe('invalid_signature')
})

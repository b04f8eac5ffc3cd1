/** What stands in a Solana message beside its one transfer, and what a refusal tells its payer to compare with. */
import { randomBytes } from 'node:crypto'
import type { Address } from '@solana/kit'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { checkTerms, decodePayment } from '#payments/rails/rails.ts'
import { tokenAccountOf } from '#payments/solana/solana-key.ts'
import { readMessage, readTransaction, readTransfer, type SolanaMessage } from '#payments/solana/solana-message.ts'
import { newSvmAccount, type SvmAccount } from './svm-chain.ts'
import { compile, type Draft, limit, memo, price, transferOf } from './svm-transactions.ts'

interface Parties {
  payer: SvmAccount
  payee: SvmAccount
  feePayer: SvmAccount
  stranger: SvmAccount
}

let parties: Parties
let option: PaymentOption
let draft: Draft
beforeAll(async () => {
  const [payer, payee, feePayer, stranger] = await Promise.all([
    newSvmAccount(),
    newSvmAccount(),
    newSvmAccount(),
    newSvmAccount(),
  ])
  parties = { payer, payee, feePayer, stranger }
  option = {
    ...{ scheme: 'exact', network: solanaNetwork, amount: '10000000', asset: usdcOnSolana, payTo: payee.address },
    ...{ maxTimeoutSeconds: 60, extra: { feePayer: feePayer.address } },
  }
  const instructions = [limit(20_000), price(1n), await transferOf(payer, payee.address), memo('one')]
  const blockhash = encodeBase58(randomBytes(32))
  draft = { version: 0, feePayer: feePayer.address, blockhash, instructions, signers: [payer] }
})

/** What a payment's refusal tells, or `taken`. */
function detailsOf(decide: () => unknown): unknown {
  try {
    decide()
    return 'taken'
  } catch (error) {
    return ((error as ServiceError).body as { details: unknown }).details
  }
}

/** An honest message: the fee payer, the payer, two token accounts, and then programs and the mint. */
function messageOf(): SolanaMessage {
  const transaction = readTransaction(Buffer.from(compile(draft), 'base64'))
  return (transaction && readMessage(transaction.message)) ?? expect.fail()
}

describe('a message', () => {
  type Change = (message: SolanaMessage) => Partial<SolanaMessage>
  /** Instruction by instruction: limit, price, transfer, memo. */
  const each =
    (...changes: ((instruction: SolanaMessage['instructions'][0]) => object)[]): Change =>
    ({ instructions }) => ({
      instructions: instructions.map(one => ({ ...one, ...changes[instructions.indexOf(one)]?.(one) })),
    })
  const asItIs = () => ({})

  const rows: [rule: string, change: Change, reason: string][] = [
    ['with one signer', () => ({ signers: 1 }), 'wrong_signers'],
    ['with a lookup table', () => ({ lookupTables: 1 }), 'lookup_tables'],
    ['of nobody', () => ({ accounts: [] }), 'wrong_signers'],
    ['of its fee payer alone', ({ accounts }) => ({ accounts: accounts.slice(0, 1) }), 'wrong_signers'],
    [
      'with an account that no instruction names',
      ({ accounts }) => ({ accounts: [...accounts, 'x'] }),
      'stray_account',
    ],
    [
      'with an account that is there twice',
      ({ accounts, instructions }) => ({
        accounts: [...accounts, accounts[2] ?? ''],
        instructions: instructions.map(each => ({ ...each, accounts: [...each.accounts, accounts.length] })),
      }),
      'stray_account',
    ],
    [
      'whose instruction names the account after the last',
      message => each(({ accounts }) => ({ accounts: [...accounts, message.accounts.length] }))(message),
      'stray_account',
    ],
    ['whose program is the fee payer', each(() => ({ program: 0 })), 'fee_payer_named'],
    [
      'with another order of the length of a price',
      each(asItIs, () => ({ data: Uint8Array.of(4, 1, 0, 0, 0, 0, 0, 0, 0) })),
      'instruction_not_allowed',
    ],
    [
      'whose transfer moves another owner’s tokens',
      each(
        asItIs,
        asItIs,
        ({ accounts: [source = 0, mint = 0, destination = 0] }) => ({ accounts: [source, mint, destination, source] }),
        () => ({ accounts: [1] }),
      ),
      'instruction_not_allowed',
    ],
  ]
  test.each(rows)('%s is refused', (_rule, change, reason) => {
    const message = messageOf()
    expect(detailsOf(() => readTransfer(message))).toBe('taken')
    expect(detailsOf(() => readTransfer({ ...message, ...change(message) }))).toEqual({ reason })
  })
})

describe('a refusal tells', () => {
  const judged = (
    changes: Partial<Draft> = {},
    { accepted = {}, payload, ours = option }: { accepted?: object; payload?: object; ours?: PaymentOption } = {},
  ) => {
    const received = {
      ...{ scheme: 'exact', network: solanaNetwork },
      accepted: { amount: '5000000', asset: usdcOnSolana, payTo: parties.payee.address, ...accepted },
      payload: { transaction: compile({ ...draft, ...changes }), ...payload },
    }
    return detailsOf(() => checkTerms(decodePayment(received, [ours]), received))
  }

  test('the token, the payee and the fee payer that were asked for', () => {
    const { payee, feePayer, stranger } = parties
    expect(judged()).toBe('taken')
    expect(judged({}, { accepted: { asset: stranger.address } })).toEqual({
      reason: 'wrong_asset',
      asset: usdcOnSolana,
    })
    expect(judged({}, { accepted: { payTo: stranger.address } })).toEqual({
      reason: 'wrong_recipient',
      payTo: payee.address,
    })
    expect(judged({ feePayer: stranger.address as Address })).toEqual({
      reason: 'wrong_fee_payer',
      feePayer: feePayer.address,
    })
  })

  test('no fee payer if our own option names none', () => {
    const { extra: _, ...ours } = option
    expect(judged({}, { ours })).toEqual({ reason: 'wrong_fee_payer' })
  })

  test('the most that a fee may be', () => {
    const [, ...others] = draft.instructions
    expect(judged({ instructions: [limit(200_001), ...others] })).toEqual({
      ...{ reason: 'compute_too_high', maxComputeUnits: 200_000, maxMicroLamportsPerUnit: '50000' },
    })
  })

  test('no payee if our own option has an invalid one: that is our own error', () => {
    expect(() => tokenAccountOf('nobody', usdcOnSolana)).toThrow('"nobody" is not a Solana address.')
  })

  test('which member is wrong', () => {
    expect(judged({}, { payload: { transaction: 7 } })).toMatchObject({ reason: 'payload_members' })
    expect(judged({}, { payload: { more: 7 } })).toEqual({ reason: 'payload_members', members: ['payload'] })
  })
})

/** What a signed payment may contain, checked before any request: payee, amount, expiry and form. */
import { randomBytes } from 'node:crypto'
import { AccountRole, type Address, type Instruction } from '@solana/kit'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import type { ReceivedPayment, SignedPayment } from '#payments/payment/payment.ts'
import { checkTerms, decodePayment, isSamePayment, untimely } from '#payments/rails/rails.ts'
import { newSvmAccount, type SvmAccount } from './svm-chain.ts'
import { compile, type Draft, limit, memo, named, price, transferOf } from './svm-transactions.ts'

/** The payment, or the reason why it is none. */
function judge(received: ReceivedPayment, options: readonly PaymentOption[]): SignedPayment | string {
  try {
    const payment = decodePayment(received, options)
    checkTerms(payment, received)
    return payment
  } catch (error) {
    return String((error as ServiceError & { body: { details: { reason: string } } }).body.details.reason)
  }
}

const reasonOf = (judged: SignedPayment | string): string | null => (typeof judged === 'string' ? judged : null)

describe('on an EVM chain', () => {
  const payTo = `0x${'Cc'.repeat(20)}`
  const option: PaymentOption = {
    ...{ scheme: 'exact', network: 'eip155:8453', amount: '10000000', asset: usdcOnEvm, payTo },
    maxTimeoutSeconds: 300,
  }
  const nowSeconds = 1_800_000_000
  const authorization = {
    from: `0x${'Aa'.repeat(20)}`,
    to: payTo,
    value: '5000000',
    validAfter: '0',
    validBefore: `${nowSeconds + 120}`,
    nonce: `0x${'Ee'.repeat(32)}`,
  }
  const largestS = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'
  const r = '11'.repeat(32)
  const signature = `0x${r}${largestS}1b`
  const accepted = { scheme: 'exact', network: option.network, amount: '5000000', asset: usdcOnEvm, payTo }

  interface Changes {
    authorization?: object
    signature?: string
    accepted?: object | null
    scheme?: string
    network?: string
    payload?: unknown
  }
  const received = (changes: Changes = {}) =>
    ({
      scheme: changes.scheme ?? 'exact',
      network: changes.network ?? option.network,
      accepted: changes.accepted === null ? null : { ...accepted, ...changes.accepted },
      payload: changes.payload ?? {
        authorization: { ...authorization, ...changes.authorization },
        signature: changes.signature ?? signature,
      },
    }) as ReceivedPayment
  const judged = (changes: Changes = {}) => judge(received(changes), [option])

  test('a payment has one canonical form, and its amount is the one that was signed', () => {
    const payment = judged({ authorization: { value: '5000000', validAfter: '007' } })
    expect(payment).toEqual({
      rail: 'evm',
      key: `evm:8453:${usdcOnEvm}:0x${'aa'.repeat(20)}:0x${'ee'.repeat(32)}`.toLowerCase(),
      option: { ...option, amount: '5000000' },
      authorization: {
        ...{ from: `0x${'aa'.repeat(20)}`, to: payTo.toLowerCase(), value: '5000000', validAfter: '7' },
        ...{ validBefore: `${nowSeconds + 120}`, nonce: `0x${'ee'.repeat(32)}` },
      },
      signature,
    })
  })

  const of = (name: string, value: unknown): Changes => ({ authorization: { [name]: value } })
  const address = `0x${'a'.repeat(40)}`
  const rows: [rule: string, changes: Changes, reason: string | null][] = [
    ['as it should be', {}, null],
    ['in the older form, which says nothing of what it accepted', { accepted: null }, null],
    ['on the network by its other name', { network: 'base' }, null],
    ['of another scheme', { scheme: 'upto' }, 'unsupported_scheme'],
    ['on a network that is not offered', { network: 'eip155:1' }, 'unsupported_network'],
    ['on a network by the name of something that every object has', { network: 'constructor' }, 'unsupported_network'],
    ['without an authorization', { payload: { signature } }, 'payload_members'],
    ['from an address of 39 digits', of('from', address.slice(0, -1)), 'payload_members'],
    ['from an address of 41 digits', of('from', `${address}a`), 'payload_members'],
    ['from an address with something before it', of('from', ` ${address}`), 'payload_members'],
    ['to no address', of('to', 'me'), 'payload_members'],
    ['with a time in hexadecimal digits', of('validAfter', '0x1'), 'payload_members'],
    ['with a time below zero', of('validBefore', '-1'), 'payload_members'],
    ['with a time and something after it', of('validBefore', '1 '), 'payload_members'],
    ['with a time of 78 digits', of('validAfter', '9'.repeat(78)), null],
    ['with a time of 79 digits', of('validAfter', '9'.repeat(79)), 'payload_members'],
    ['with a nonce of 63 digits', of('nonce', `0x${'e'.repeat(63)}`), 'payload_members'],
    ['with a nonce of 65 digits', of('nonce', `0x${'e'.repeat(65)}`), 'payload_members'],
    ['with a nonce with something before it', of('nonce', ` 0x${'e'.repeat(64)}`), 'payload_members'],
    ['with an amount in hexadecimal digits', of('value', '0x4c4b40'), 'amount_not_decimal'],
    ['with an accepted amount in hexadecimal digits', { accepted: { amount: '0x4c4b40' } }, 'amount_not_decimal'],
    ['of another token', { accepted: { asset: address } }, 'wrong_asset'],
    ['of our token in another case', { accepted: { asset: usdcOnEvm.toLowerCase() } }, null],
    ['to another payee than is said', { ...of('to', address) }, 'wrong_recipient'],
    ['that says another payee than it pays', { accepted: { payTo: address } }, 'wrong_recipient'],
    ['to another payee, in the older form', { ...of('to', address), accepted: null }, 'wrong_recipient'],
    ['to our payee in another case', of('to', payTo.toLowerCase()), null],
    [
      'of a millionth below the least',
      { ...of('value', '4999999'), accepted: { amount: '4999999' } },
      'amount_too_low',
    ],
    ['that signs less than it says', of('value', '4999999'), 'amount_too_low'],
    ['of the most', { ...of('value', '10000000000'), accepted: { amount: '10000000000' } }, null],
    [
      'of a millionth above the most',
      { ...of('value', '10000000001'), accepted: { amount: '10000000001' } },
      'amount_too_high',
    ],
    ['of the most in the older form', { ...of('value', '10000000000'), accepted: null }, null],
    ['of too much in the older form', { ...of('value', '10000000001'), accepted: null }, 'amount_too_high'],
    ['that signs another amount than it says', of('value', '5000001'), 'amount_mismatch'],
    ['with a signature of half a byte', { signature: '0x123' }, 'invalid_signature'],
    ['with a signature of no bytes', { signature: '0x' }, 'invalid_signature'],
    ['with a signature that is not hexadecimal', { signature: `0x${'zz'.repeat(65)}` }, 'invalid_signature'],
    ['with a signature with something before it', { signature: ` ${signature}` }, 'invalid_signature'],
    ['with a contract’s signature of 2,048 bytes', { signature: `0x${'12'.repeat(2_048)}` }, null],
    ['with a longer one', { signature: `0x${'12'.repeat(2_049)}` }, 'invalid_signature'],
    [
      'of a wallet that is still to be deployed',
      { signature: `0x${'00'.repeat(64)}${'6492'.repeat(16)}` },
      'undeployed_wallet',
    ],
    ['with the largest low s', { signature: `0x${r}${largestS}1c` }, null],
    ['with the smallest high s', { signature: `0x${r}${largestS.slice(0, -1)}11b` }, 'invalid_signature'],
    ['with recovery 26', { signature: `0x${r}${largestS}1a` }, 'invalid_signature'],
    ['with recovery 29', { signature: `0x${r}${largestS}1d` }, 'invalid_signature'],
    ['with recovery 2', { signature: `0x${r}${largestS}02` }, 'invalid_signature'],
  ]
  test.each(rows)('a payment %s', (_rule, changes, reason) => {
    expect(reasonOf(judged(changes))).toBe(reason)
  })

  test.each([
    ['00', '1b'],
    ['01', '1c'],
    ['1b', '1b'],
    ['1C', '1c'],
  ])('a recovery bit that is written as %s is %s', (written, canonical) => {
    expect(judged({ signature: `0x${r}${largestS}${written}` })).toMatchObject({
      signature: `0x${r}${largestS}${canonical}`,
    })
  })

  test('a contract’s signature is kept as it is, in lower case', () => {
    expect(judged({ signature: '0xAB' })).toMatchObject({ signature: '0xab' })
  })

  const times: [rule: string, times: object, answer: object | null][] = [
    ['has ten seconds left', { validBefore: `${nowSeconds + 10}` }, null],
    ['has nine seconds left', { validBefore: `${nowSeconds + 9}` }, { expired: true, reason: 'expired' }],
    ['is good for the longest time and a minute', { validBefore: `${nowSeconds + 360}` }, null],
    [
      'is good for a second longer',
      { validBefore: `${nowSeconds + 361}` },
      { expired: false, reason: 'validity_too_long' },
    ],
    ['begins in a minute', { validAfter: `${nowSeconds + 60}` }, null],
    ['begins a second later', { validAfter: `${nowSeconds + 61}` }, { expired: false, reason: 'not_yet_valid' }],
  ]
  test.each(times)('a payment that %s', (_rule, changes, answer) => {
    const payment = judged({ authorization: changes }) as SignedPayment
    const late = untimely(payment, nowSeconds * 1000 + 999)
    const { details } = (late?.refusal.body ?? { details: null }) as { details: { reason: string } | null }
    expect(late && { expired: late.expired, reason: details?.reason }).toEqual(answer)
  })

  test('is the same payment only where all that is signed is the same', () => {
    const one = judged() as SignedPayment
    expect(isSamePayment(one, judged({ accepted: null }) as SignedPayment)).toBe(true)
    expect(isSamePayment(one, judged(of('validAfter', '1')) as SignedPayment)).toBe(false)
    expect(isSamePayment(one, judged({ signature: `0x${r}${largestS}1c` }) as SignedPayment)).toBe(false)
  })
})

describe('on Solana', () => {
  let payer: SvmAccount
  let payee: SvmAccount
  let feePayer: SvmAccount
  let stranger: SvmAccount
  let option: PaymentOption
  let transfer: Instruction
  let draft: Draft
  beforeAll(async () => {
    ;[payer, payee, feePayer, stranger] = await Promise.all([
      newSvmAccount(),
      newSvmAccount(),
      newSvmAccount(),
      newSvmAccount(),
    ])
    option = {
      ...{ scheme: 'exact', network: solanaNetwork, amount: '10000000', asset: usdcOnSolana, payTo: payee.address },
      ...{ maxTimeoutSeconds: 60, extra: { feePayer: feePayer.address } },
    }
    transfer = await transferOf(payer, payee.address)
    const blockhash = encodeBase58(randomBytes(32))
    const instructions = [limit(20_000), price(1n), transfer, memo('one')]
    draft = { version: 0, feePayer: feePayer.address, blockhash, instructions, signers: [payer] }
  })

  const received = (transaction: unknown, accepted: object = {}) =>
    ({
      scheme: 'exact',
      network: solanaNetwork,
      accepted: {
        scheme: 'exact',
        network: solanaNetwork,
        amount: '5000000',
        asset: usdcOnSolana,
        payTo: payee.address,
        ...accepted,
      },
      payload: { transaction },
    }) as ReceivedPayment
  const judged = (changes: Partial<Draft> = {}, accepted: object = {}) =>
    judge(received(compile({ ...draft, ...changes }), accepted), [option])

  test('a payment is defined by its one transfer', async () => {
    const account = async (owner: SvmAccount) => await usdcAccountOf(owner.address as Address)
    expect(judged()).toMatchObject({
      ...{ rail: 'svm', payer: payer.address, feePayer: feePayer.address, destination: await account(payee) },
      ...{ option: { ...option, amount: '5000000' }, lastBlockHeight: null },
    })
    expect(untimely(judged() as SignedPayment, 0)).toBeNull()
    expect(isSamePayment(judged() as SignedPayment, judged() as SignedPayment)).toBe(true)
    expect(isSamePayment(judged() as SignedPayment, judged({ version: 'legacy' }) as SignedPayment)).toBe(false)
  })

  const data = (instruction: Instruction, change: (bytes: Buffer) => Uint8Array): Instruction => ({
    ...instruction,
    data: change(Buffer.from(instruction.data ?? [])),
  })
  const cut = (bytes: Buffer) => bytes.subarray(0, -1)
  const longer = (bytes: Buffer) => Buffer.concat([bytes, Buffer.of(0)])
  const first = (byte: number) => (bytes: Buffer) => Buffer.concat([Buffer.of(byte), bytes.subarray(1)])
  const like = (instruction: Instruction, accounts: Instruction['accounts']): Instruction => ({
    ...instruction,
    accounts,
  })

  const allowed: [rule: string, made: () => Instruction[]][] = [
    ['a limit, a price, the transfer and a memo', () => draft.instructions],
    ['a limit and the transfer', () => [limit(20_000), transfer]],
    ['in another order', () => [transfer, memo('last'), price(1n), limit(20_000)]],
    [
      'a memo that names its payer',
      () => [limit(20_000), transfer, memo('mine', [named(payer.address, AccountRole.READONLY_SIGNER)])],
    ],
    ['the highest limit', () => [limit(200_000), transfer]],
    ['the highest price', () => [limit(20_000), price(50_000n), transfer]],
  ]
  test.each(allowed)('%s is allowed in it', (_rule, made) => {
    expect(reasonOf(judged({ instructions: made() }))).toBeNull()
  })

  const twice = async (changes: object) => await transferOf(payer, payee.address, changes)
  const refused: [rule: string, made: () => Instruction[] | Promise<Instruction[]>, reason: string][] = [
    [
      'no transfer',
      () => [limit(20_000), memo('x', [named(payer.address, AccountRole.READONLY_SIGNER)])],
      'instruction_not_allowed',
    ],
    ['no limit', () => [transfer], 'instruction_not_allowed'],
    ['two transfers', async () => [limit(20_000), transfer, await twice({ amount: 1n })], 'instruction_not_allowed'],
    ['two limits', () => [limit(20_000), limit(20_001), transfer], 'instruction_not_allowed'],
    ['two prices', () => [limit(20_000), price(1n), price(2n), transfer], 'instruction_not_allowed'],
    ['two memos', () => [limit(20_000), transfer, memo('a'), memo('b')], 'instruction_not_allowed'],
    ['a limit that is too short', () => [data(limit(20_000), cut), transfer], 'instruction_not_allowed'],
    ['a limit that is too long', () => [data(limit(20_000), longer), transfer], 'instruction_not_allowed'],
    [
      'a limit that names an account',
      () => [like(limit(20_000), [named(payer.address)]), transfer],
      'instruction_not_allowed',
    ],
    ['another order to the budget program', () => [data(limit(20_000), first(1)), transfer], 'instruction_not_allowed'],
    ['a price that is too short', () => [limit(20_000), data(price(1n), cut), transfer], 'instruction_not_allowed'],
    ['a price that is too long', () => [limit(20_000), data(price(1n), longer), transfer], 'instruction_not_allowed'],
    [
      'a price that names an account',
      () => [limit(20_000), like(price(1n), [named(payer.address)]), transfer],
      'instruction_not_allowed',
    ],
    ['a transfer that is too long', () => [limit(20_000), data(transfer, longer)], 'instruction_not_allowed'],
    ['a transfer that is too short', () => [limit(20_000), data(transfer, cut)], 'instruction_not_allowed'],
    ['another order to the token program', () => [limit(20_000), data(transfer, first(3))], 'instruction_not_allowed'],
    [
      'a transfer with a fifth account',
      () => [limit(20_000), like(transfer, [...(transfer.accounts ?? []), named(stranger.address)])],
      'instruction_not_allowed',
    ],
    [
      'a memo that names an unknown account',
      () => [limit(20_000), transfer, memo('x', [named(stranger.address)])],
      'instruction_not_allowed',
    ],
    [
      'another program',
      () => [limit(20_000), transfer, { programAddress: stranger.address as Address, data: Buffer.of(1) }],
      'instruction_not_allowed',
    ],
    ['a limit above the highest', () => [limit(200_001), transfer], 'compute_too_high'],
    ['a price above the highest', () => [limit(20_000), price(50_001n), transfer], 'compute_too_high'],
    [
      'a memo that names the fee payer',
      () => [limit(20_000), transfer, memo('x', [named(feePayer.address)])],
      'fee_payer_named',
    ],
    ['a transfer of another mint', async () => [limit(20_000), await twice({ mint: stranger.address })], 'wrong_asset'],
    ['a transfer of other decimals', async () => [limit(20_000), await twice({ decimals: 7 })], 'wrong_asset'],
    [
      'a transfer to another account',
      async () => [limit(20_000), await twice({ destination: stranger.address })],
      'wrong_recipient',
    ],
    [
      'a transfer from the payee’s own account',
      async () => [limit(20_000), await twice({ source: await usdcAccountOf(payee.address as Address) })],
      'wrong_recipient',
    ],
    [
      'a transfer of a millionth too little',
      async () => [limit(20_000), await twice({ amount: 4_999_999n })],
      'amount_too_low',
    ],
    [
      'a transfer of another amount than is said',
      async () => [limit(20_000), await twice({ amount: 5_000_001n })],
      'amount_mismatch',
    ],
  ]
  test.each(refused)('%s may not', async (_rule, made, reason) => {
    expect(reasonOf(judged({ instructions: await made() }))).toBe(reason)
  })

  test('the option that it claims to accept is compared as well', () => {
    expect(reasonOf(judged({}, { asset: stranger.address }))).toBe('wrong_asset')
    expect(reasonOf(judged({}, { payTo: stranger.address }))).toBe('wrong_recipient')
  })

  test('another fee payer is refused, and so are a third signer and none', () => {
    expect(reasonOf(judged({ feePayer: stranger.address }))).toBe('wrong_fee_payer')
    expect(reasonOf(judged({ feePayer: payer.address }))).toBe('wrong_signers')
    const third = memo('x', [named(stranger.address, AccountRole.READONLY_SIGNER)])
    expect(reasonOf(judged({ instructions: [limit(20_000), transfer, third] }))).toBe('wrong_signers')
    expect(reasonOf(judged({ signers: [] }))).toBe('invalid_signature')
    expect(reasonOf(judged({ signers: [{ ...payer, key: stranger.key }] }))).toBe('invalid_signature')
  })

  test('one with a missing or extra signature is refused, and one that is too long is not a transaction', () => {
    const wire = Buffer.from(compile(draft), 'base64')
    const signed = (count: number) =>
      Buffer.concat([
        Buffer.of(count),
        Buffer.alloc(64),
        wire.subarray(65, 129),
        Buffer.alloc(64 * (count - 2)),
        wire.subarray(129),
      ])
    const of = (bytes: Uint8Array) => reasonOf(judge(received(Buffer.from(bytes).toString('base64')), [option]))
    expect([of(signed(2)), of(signed(3))]).toEqual([null, 'invalid_signature'])
    expect(of(Buffer.concat([Buffer.of(1), wire.subarray(65)]))).toBe('invalid_signature')
    const filled = (characters: number) =>
      judged({ instructions: [limit(20_000), transfer, memo('x'.repeat(characters))] })
    const room =
      1_232 -
      Buffer.from(compile({ ...draft, instructions: [limit(20_000), transfer, memo('x'.repeat(200))] }), 'base64')
        .length
    expect([reasonOf(filled(200 + room)), reasonOf(filled(200 + room + 1))]).toEqual([null, 'not_a_transaction'])
  })

  test('a transaction in another encoding is refused', () => {
    const text = compile(draft)
    const of = (transaction: unknown) => reasonOf(judge(received(transaction), [option]))
    expect([of(text), of(`${text} `), of(text.slice(4)), of(''), of(7)]).toEqual([
      ...[null, 'not_a_transaction', 'not_a_transaction', 'not_a_transaction', 'payload_members'],
    ])
  })
})

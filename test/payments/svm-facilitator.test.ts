/** What a facilitator of our own on Solana makes of what its node says; the node is told here. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { FeeBudget } from '#payments/facilitators/fee-budget.ts'
import { SettlementPaused } from '#payments/facilitators/rail.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { LocalSvmFacilitator } from '#payments/solana/local-svm-facilitator.ts'
import { openRemoteSvmFacilitator } from '#payments/solana/open-svm.ts'
import { addressOf, tokenAccountOf, tokenProgram } from '#payments/solana/solana-key.ts'
import { wireOf } from '#payments/solana/solana-message.ts'
import type { SvmPayment } from '#payments/solana/svm-rail.ts'
import { localServer } from '../local-server.ts'
import { type Question, type Said, startScriptedNode } from './scripted-node.ts'
import { signedSvmPayment } from './signed-svm-payment.ts'

/** Two signatures, and 20,000 units at a price of 1. */
const fee = 10_001n

let made: Awaited<ReturnType<typeof signedSvmPayment>>
let node: Awaited<ReturnType<typeof startScriptedNode>>
/** The node's answers to a method, in order; the last one repeats. */
let says: Record<string, Said[]>
const timesAsked = (method: string) => node.asked.filter(question => question.method === method).length

beforeAll(async () => {
  made = await signedSvmPayment()
  node = await startScriptedNode(({ method }: Question) => {
    const said = says[method] ?? []
    return said[Math.min(timesAsked(method), said.length) - 1] ?? null
  })
})
afterAll(() => node.close())
beforeEach(() => {
  node.asked.length = 0
  says = {}
})

const facilitatorWith = (perHour = 1_000_000n, patienceMs?: number) => {
  const fees = new FeeBudget({ perHour, clock: { now: () => 1 } })
  const patience = patienceMs === undefined ? {} : { patienceMs }
  const { key } = made.feePayer
  const parts = { network: solanaNetwork, rpcUrl: node.url, feePayer: key, fees, ...patience }
  return { fees, facilitator: new LocalSvmFacilitator(parts) }
}
const simulated = (err: unknown): Said[] => [{ result: { value: { err } } }]
/** Token accounts: whether there is one, or whether it is frozen. */
type There = boolean | 'frozen'
const accounts = (...there: There[]): Said[] => [{ result: { value: there.map(is => (is ? tokenAccount(is) : null)) } }]
function tokenAccount(is: There) {
  const bytes = Buffer.alloc(165)
  bytes[108] = is === 'frozen' ? 2 : 1
  return { data: [bytes.toString('base64'), 'base64'] }
}
const instructionError = { InstructionError: [2, { Custom: 9 }] }

describe('a payment is checked', () => {
  const verify = (payment: SvmPayment = made.payment, perHour?: bigint) =>
    facilitatorWith(perHour)
      .facilitator.verify(payment)
      .catch((error: unknown) => error)

  test('by a simulation of what its payer signed, without a signature of ours', async () => {
    says.simulateTransaction = simulated(null)
    expect(await verify()).toEqual({ valid: true })
    const config = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: false, commitment: 'processed' }
    expect(node.asked).toEqual([
      { method: 'simulateTransaction', params: [wireOf(new Uint8Array(64), made.payment), config] },
    ])
  })

  test('and is not known to be good where the node does not say that there was no error', async () => {
    says.simulateTransaction = [{ result: { value: {} } }]
    expect(await verify()).toBeInstanceOf(ChainUnavailable)
  })

  const refused: [rule: string, err: unknown, there: There[] | null, reason: string][] = [
    ['whose blockhash is too old', 'BlockhashNotFound', null, 'expired'],
    ['that has landed', 'AlreadyProcessed', null, 'nonce_used'],
    ['of more than its payer has', { InstructionError: [2, { Custom: 1 }] }, null, 'insufficient_funds'],
    ['of a payer without an account', instructionError, [false, true], 'insufficient_funds'],
    ['that the token refuses', instructionError, [true, true], 'simulation_failed'],
    ['from a frozen account', instructionError, ['frozen', true], 'simulation_failed'],
  ]
  test.each(refused)('one %s is refused', async (_rule, err, there, reason) => {
    says.simulateTransaction = simulated(err)
    if (there) says.getMultipleAccounts = accounts(...there)
    expect(await verify()).toEqual({ valid: false, reason })
    expect(timesAsked('getMultipleAccounts')).toBe(there ? 1 : 0)
  })

  test('one whose blockhash a node does not know at first is good', async () => {
    says.simulateTransaction = [
      ...simulated('BlockhashNotFound'),
      ...simulated('BlockhashNotFound'),
      ...simulated(null),
    ]
    expect(await verify()).toEqual({ valid: true })
    says.simulateTransaction = simulated('BlockhashNotFound')
    node.asked.length = 0
    expect(await verify()).toEqual({ valid: false, reason: 'expired' })
    expect(timesAsked('simulateTransaction')).toBe(3)
  })

  test('the account that a program refused is found by source and destination', async () => {
    says.simulateTransaction = simulated(instructionError)
    says.getMultipleAccounts = accounts(true, true)
    await verify()
    const config = { encoding: 'base64', commitment: 'processed' }
    expect(node.asked[1]?.params).toEqual([[made.source, made.payment.destination], config])
  })

  test('before anything is asked: its signature, and whether the fee is still ours to pay', async () => {
    const forged = { ...made.payment, signature: Buffer.alloc(64, 1).toString('base64') }
    expect(await verify(forged)).toEqual({ valid: false, reason: 'invalid_signature' })
    const others = { ...made.payment, feePayer: made.payer.address }
    expect(await verify(others)).toEqual({ valid: false, reason: 'wrong_fee_payer' })
    expect(node.asked).toEqual([])
  })

  test.each<[string, unknown, There[] | null, bigint | undefined, boolean]>([
    ['the hour’s fees have room for it alone', null, null, fee, false],
    ['the hour’s fees have no room', null, null, fee - 1n, true],
    ['our account has too little', 'InsufficientFundsForFee', null, undefined, true],
    ['our payee has no account', instructionError, [true, false], undefined, true],
    ['our payee’s account is frozen', instructionError, [true, 'frozen'], undefined, true],
  ])('settling is paused where %s', async (_rule, err, there, perHour, isPaused) => {
    says.simulateTransaction = simulated(err)
    if (there) says.getMultipleAccounts = accounts(...there)
    const answer = await verify(made.payment, perHour)
    if (isPaused) expect(answer).toBeInstanceOf(SettlementPaused)
    else expect(answer).toEqual({ valid: true })
  })

  test('nothing is known where the node breaks off', async () => {
    expect(await verify()).toMatchObject({ name: 'ChainUnavailable', cause: { name: 'TypeError' } })
    says.simulateTransaction = simulated(instructionError)
    const answer = await verify()
    expect(answer).toBeInstanceOf(ChainUnavailable)
    expect(answer).toMatchObject({ cause: { name: 'TypeError' } })
  })
})

describe('a payment is settled', () => {
  const transaction = () => encodeBase58(made.feePayer.key.sign(Buffer.from(made.payment.message, 'base64')))
  const wire = () => wireOf(made.feePayer.key.sign(Buffer.from(made.payment.message, 'base64')), made.payment)
  const inBlock: Said[] = [{ result: { value: [{ slot: 1 }] } }]
  const nowhere: Said = { result: { value: [null] } }
  const refusal = (err: unknown, code = -32002): Said[] => [{ error: { code, message: 'no', data: { err } } }]

  test('by sending it once with both signatures, and is settled once a block holds it', async () => {
    says.sendTransaction = [{ result: transaction() }]
    says.getSignatureStatuses = inBlock
    const { facilitator, fees } = facilitatorWith()
    expect(await facilitator.settle(made.payment)).toEqual({ state: 'settled', transaction: transaction() })
    expect(node.asked).toEqual([
      { method: 'sendTransaction', params: [wire(), { encoding: 'base64', preflightCommitment: 'processed' }] },
      { method: 'getSignatureStatuses', params: [[transaction()]] },
    ])
    expect(fees.left).toBe(1_000_000n - fee)
  })

  test('though the node did not know its blockhash at first', async () => {
    says.sendTransaction = [...refusal('BlockhashNotFound'), { result: transaction() }]
    says.getSignatureStatuses = inBlock
    const { facilitator, fees } = facilitatorWith()
    expect(await facilitator.settle(made.payment)).toEqual({ state: 'settled', transaction: transaction() })
    expect([timesAsked('sendTransaction'), fees.left]).toEqual([2, 1_000_000n - fee])
  })

  test('and stays pending if no block contains it in time, or the node does not answer', async () => {
    says.sendTransaction = [{ result: transaction() }]
    says.getSignatureStatuses = [nowhere]
    const sent = { state: 'sent', transaction: transaction() }
    expect(await facilitatorWith(undefined, 1).facilitator.settle(made.payment)).toEqual(sent)
    says.getSignatureStatuses = []
    expect(await facilitatorWith(undefined, 1).facilitator.settle(made.payment)).toEqual(sent)
    expect(await facilitatorWith(undefined, 0).facilitator.settle(made.payment)).toEqual(sent)
  })

  test('though the answer to its sending was lost', async () => {
    says.getSignatureStatuses = inBlock
    const { facilitator, fees } = facilitatorWith()
    expect(await facilitator.settle(made.payment)).toEqual({ state: 'settled', transaction: transaction() })
    expect([timesAsked('sendTransaction'), fees.left]).toEqual([1, 1_000_000n - fee])
  })

  const ends: [rule: string, said: Said[], there: There[] | null, settlement: object, spent: bigint][] = [
    [
      'is refused where its time is over',
      refusal('BlockhashNotFound'),
      null,
      { state: 'refused', reason: 'expired' },
      0n,
    ],
    [
      'is refused where its payer has too little',
      refusal({ InstructionError: [2, { Custom: 1 }] }),
      null,
      { state: 'refused', reason: 'insufficient_funds' },
      0n,
    ],
    [
      'is refused where the token refuses it',
      refusal(instructionError),
      [true, true],
      { state: 'refused', reason: 'simulation_failed' },
      0n,
    ],
    [
      'is not sent where our account has too little',
      refusal('InsufficientFundsForFee'),
      null,
      { state: 'unsent', why: expect.stringContaining('too little SOL') },
      0n,
    ],
    [
      'is not sent where our payee has no account',
      refusal(instructionError),
      [true, false],
      { state: 'unsent', why: 'The payee has no token account on Solana; open one.' },
      0n,
    ],
    [
      'is not sent where the node refuses for another reason',
      refusal('BlockhashNotFound', -32005),
      null,
      { state: 'unsent', why: 'The Solana node refused to send a payment (-32005).' },
      0n,
    ],
    [
      'is not sent where the node tells no reason',
      [{ error: { code: -32002, message: 'no' } }],
      null,
      { state: 'unsent', why: 'The Solana node refused to send a payment (-32002).' },
      0n,
    ],
  ]
  test.each(ends)('and %s', async (_rule, said, there, settlement, spent) => {
    says.sendTransaction = said
    if (there) says.getMultipleAccounts = accounts(...there)
    const { facilitator, fees } = facilitatorWith()
    expect(await facilitator.settle(made.payment)).toEqual(settlement)
    expect([1_000_000n - fees.left, timesAsked('getSignatureStatuses')]).toEqual([spent, 0])
  })

  test('and has its fee spent where the chain has executed it already', async () => {
    says.sendTransaction = refusal('AlreadyProcessed')
    says.getSignatureStatuses = inBlock
    const { facilitator, fees } = facilitatorWith()
    expect(await facilitator.settle(made.payment)).toEqual({ state: 'settled', transaction: transaction() })
    expect(fees.left).toBe(1_000_000n - fee)
  })

  test('and not even sent where the hour’s fees have no room, or the fee was another key’s', async () => {
    expect(await facilitatorWith(fee - 1n).facilitator.settle(made.payment)).toMatchObject({ state: 'unsent' })
    expect(await facilitatorWith(0n).facilitator.settle(made.payment)).toEqual({
      ...{ state: 'unsent', why: expect.stringContaining('have reached the cap of 0 lamports per hour') },
    })
    const others = { ...made.payment, feePayer: made.payer.address }
    expect(await facilitatorWith().facilitator.settle(others)).toEqual({
      ...{
        state: 'unsent',
        why: expect.stringContaining(`The fee payer ${made.payer.address} of a payment was replaced`),
      },
    })
    expect(node.asked).toEqual([])
  })
})

describe('the operator is warned', () => {
  const solana = solanaNetwork.slice('solana:'.length)
  const mint = (changes: { owner?: string; bytes?: number; decimals?: number } = {}) => {
    const { owner = tokenProgram, bytes = 82, decimals = 6 } = changes
    const data = Buffer.alloc(bytes)
    data[44] = decimals
    return { owner, data: [data.toString('base64'), 'base64'] }
  }
  const account = (owner = made.payee, program = tokenProgram, state = 1) => {
    const data = Buffer.alloc(165)
    data[108] = state
    data.set(addressOf(owner.address) ?? expect.fail(), 32)
    return { owner: program, data: [data.toString('base64'), 'base64'] }
  }
  /** 890,880 that an account keeps, and ten payments at 20,000 lamports. */
  const enough = 890_880 + 10 * 20_000

  interface Chain {
    genesis?: string
    accounts?: () => unknown[]
    lamports?: number
  }
  function tell({ genesis = `${solana}more`, accounts = () => [mint(), account()], lamports = enough }: Chain) {
    says.getGenesisHash = [{ result: genesis }]
    says.getMultipleAccounts = [{ result: { value: accounts() } }]
    says.getBalance = [{ result: { value: lamports } }]
  }

  const rows: [rule: string, chain: Chain, problem: RegExp | null][] = [
    ['nothing where all is well', {}, null],
    ['that the node is of another chain', { genesis: 'another' }, /serves the chain of another, not solana:/],
    ['that there is no token', { accounts: () => [null, account()] }, /no token with 6 decimals at EPj/],
    ['that the token is another program’s', { accounts: () => [mint({ owner: 'x' }), account()] }, /no token with 6/],
    ['that it is not a mint', { accounts: () => [mint({ bytes: 83 }), account()] }, /no token with 6/],
    ['that it has other decimals', { accounts: () => [mint({ decimals: 9 }), account()] }, /no token with 6/],
    ['that the payee has no account', { accounts: () => [mint(), null] }, /has no account for EPj.* yet/],
    [
      'that it is not an account of the token',
      { accounts: () => [mint(), account(made.payee, 'x')] },
      /has no account for/,
    ],
    ['that it was given away', { accounts: () => [mint(), account(made.payer)] }, /no longer belongs to/],
    [
      'that it is frozen',
      { accounts: () => [mint(), account(made.payee, tokenProgram, 2)] },
      /is frozen by the issuer of the token.*set payTo to another/,
    ],
    ['that there is no SOL', { lamports: 0 }, /has no SOL/],
    ['that there is SOL for nine payments', { lamports: enough - 1 }, /fewer than 10 payments/],
  ]
  test.each(rows)('%s', async (_rule, chain, problem) => {
    tell(chain)
    const answer = await facilitatorWith().facilitator.problem(made.option)
    if (problem) expect(answer).toMatch(problem)
    else expect(answer).toBeNull()
  })

  test('of what accounts the node was asked, in a depth that stays', async () => {
    tell({})
    await facilitatorWith().facilitator.problem(made.option)
    expect(node.asked.map(({ method, params }) => [method, params])).toEqual([
      ['getGenesisHash', []],
      [
        'getMultipleAccounts',
        [
          [usdcOnSolana, tokenAccountOf(made.payee.address, usdcOnSolana)],
          { encoding: 'base64', commitment: 'confirmed' },
        ],
      ],
      ['getBalance', [made.feePayer.address, { commitment: 'confirmed' }]],
    ])
  })

  test('that a payee is not an address, that the fees are used up, or that the node is unreachable', async () => {
    tell({})
    expect(await facilitatorWith().facilitator.problem({ ...made.option, payTo: 'nobody' })).toMatch(
      /nobody cannot receive/,
    )
    expect(await facilitatorWith(0n).facilitator.problem(made.option)).toMatch(/have reached the cap of 0 lamports/)
    expect(facilitatorWith().facilitator.supported()).toEqual([solanaNetwork])
    says = {}
    expect(await facilitatorWith().facilitator.problem(made.option)).toMatch(/node cannot be reached/)
  })

  test('what a remote facilitator’s option lacks: its own fee payer, or what any option does', async () => {
    let kind: object = { x402Version: 2, scheme: 'exact', network: solanaNetwork }
    const remote = await localServer((_, response) => response.end(JSON.stringify({ kinds: [kind] })))
    const facilitator = openRemoteSvmFacilitator({ url: remote.url, network: solanaNetwork, rpcUrl: node.url })
    tell({})
    const problem = (option: PaymentOption = made.option) => facilitator.problem(option)
    expect(await problem()).toBe(
      `The facilitator pays fees from undefined and not from ${made.feePayer.address}; set feePayer to its account.`,
    )
    kind = { ...kind, extra: { feePayer: made.feePayer.address } }
    expect(await problem()).toBeNull()
    const { extra: _, ...bare } = made.option
    expect(await problem(bare)).toMatch(/and not from undefined/)
    tell({ genesis: 'another' })
    expect(await problem()).toMatch(/serves the chain of another/)
    await facilitator.close()
    await remote.close()
  })
})

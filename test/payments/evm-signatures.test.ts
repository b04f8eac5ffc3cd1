/** Whether a payer signed, by the key that did or by what a node says of its contract. */
import { authorizationTypes } from '@x402/evm'
import * as viem from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, test } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { EvmSignatures } from '#payments/evm/evm-checks.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { type Question, type Said, startScriptedNode } from './scripted-node.ts'

const owner = privateKeyToAccount(generatePrivateKey())
const payTo = `0x${'cc'.repeat(20)}` as const
const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo, maxTimeoutSeconds: 300 },
  extra: { name: 'USD Coin', version: '2' },
}
const authorization = {
  ...{ to: payTo, value: '5000000', validAfter: '1', validBefore: '1800000000' },
  nonce: `0x${'ee'.repeat(32)}` as const,
}

/** Signed by the owner as any wallet signs it, whatever payer the payment names. */
async function signed(from: string = owner.address, terms: Partial<PaymentOption> = {}): Promise<EvmPayment> {
  const { to, nonce, value, validAfter, validBefore } = authorization
  const signature = await owner.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: usdcOnEvm },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...{ from: from as `0x${string}`, to, nonce },
      ...{ value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) },
    },
  })
  const payment = { ...option, ...terms }
  return {
    rail: 'evm',
    key: '',
    option: payment,
    authorization: { ...authorization, from: from.toLowerCase() },
    signature,
  }
}

let close: () => Promise<void> = async () => undefined
afterEach(() => close())

/** What is wrong with the signature, and what the node was asked for it. */
async function judge(payment: EvmPayment, say: (question: Question) => Said, contractWallets = true) {
  const node = await startScriptedNode(say)
  close = node.close
  const signatures = new EvmSignatures(viem, authorizationTypes, { rpcUrl: node.url, contractWallets })
  const problem = await signatures.problem(payment).catch((error: unknown) => error)
  return { problem, asked: node.asked }
}

const yes = `0x1626ba7e${'0'.repeat(56)}`
const contract = `0x${'ab'.repeat(20)}`
const code: Said = { result: '0x6000' }
const none: Said = { result: '0x' }
const error = (message: string, code = -32000): Said => ({ error: { code, message } })
const saying = (call: Said) => (question: Question) => (question.method === 'eth_getCode' ? code : call)

describe('an ordinary account', () => {
  test('signs with its own key, over the domain of the option', async () => {
    const { problem, asked } = await judge(await signed(), () => none)
    expect([problem, asked.map(({ method }) => method)]).toEqual([null, ['eth_getCode']])
  })

  test.each<[string, Partial<PaymentOption>]>([
    ['another name', { extra: { name: 'USDC', version: '2' } }],
    ['another version', { extra: { name: 'USD Coin', version: '1' } }],
    ['no name and no version', { extra: undefined }],
    ['another chain', { network: 'eip155:1' }],
    ['another token', { asset: payTo }],
  ])('has not signed for %s', async (_rule, terms) => {
    expect((await judge(await signed(owner.address, terms), () => none)).problem).toBe('invalid_signature')
  })

  test('that did not sign is refused without a request to the node, if contracts cannot pay', async () => {
    const { problem, asked } = await judge(await signed(contract), () => none, false)
    expect([problem, asked]).toEqual(['invalid_signature', []])
  })

  test('that has become a contract is one, and does not pay where none do', async () => {
    expect((await judge(await signed(), () => code, false)).problem).toBe('contract_wallet')
  })

  test('cannot be confirmed while the node is unreachable: it is asked twice', async () => {
    const { problem, asked } = await judge(await signed(), () => null, false)
    expect([problem, asked.length]).toEqual([expect.any(ChainUnavailable), 2])
    expect(problem).toMatchObject({ cause: { name: 'HttpRequestError' } })
  })
})

describe('a contract', () => {
  test('is asked what the token asks it, with the gas of its part of a settlement', async () => {
    const payment = await signed(contract)
    const { problem, asked } = await judge(payment, saying({ result: yes }))
    expect(problem).toBeNull()
    expect(asked[1]).toMatchObject({
      method: 'eth_call',
      params: [{ to: contract.toLowerCase(), gas: '0xf4240' }, 'latest'],
    })
    expect(JSON.stringify(asked[1])).toContain(payment.signature.slice(2))
  })

  const answers: [rule: string, said: Said, problem: string | null][] = [
    ['says yes and more', { result: `${yes}${'1'.repeat(64)}` }, null],
    ['says no', { result: `0x${'0'.repeat(64)}` }, 'invalid_signature'],
    ['says nothing', none, 'invalid_signature'],
    ['says less than a word', { result: '0x1626ba7e' }, 'invalid_signature'],
    ['reverts', error('execution reverted', 3), 'invalid_signature'],
    ['burns its gas, as one node says it', error('out of gas'), 'invalid_signature'],
    ['burns its gas, as another says it', error('EVM error OutOfGas'), 'invalid_signature'],
    ['has a limit of its gas', error('gas limit reached'), 'invalid_signature'],
    ['has gas beyond any number', error('gas uint64 overflow'), 'invalid_signature'],
    ['is no code', error('invalid opcode: INVALID'), 'invalid_signature'],
    ['jumps nowhere', error('invalid jump destination'), 'invalid_signature'],
    ['fills its stack', error('stack overflow'), 'invalid_signature'],
    ['empties its stack', error('stack underflow'), 'invalid_signature'],
  ]
  test.each(answers)('that %s', async (_rule, said, problem) => {
    expect((await judge(await signed(contract), saying(said))).problem).toBe(problem)
  })

  test.each<[string, Said]>([
    ['does not tell', error('the node is busy')],
    ['breaks off', null],
  ])('is not judged where the node %s', async (_rule, said) => {
    const { problem } = await judge(await signed(contract), saying(said))
    expect(problem).toBeInstanceOf(ChainUnavailable)
    expect(problem).toMatchObject({ cause: { name: 'CallExecutionError' } })
  })
})

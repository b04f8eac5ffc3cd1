import { randomUUID } from 'node:crypto'
import { authorizationTypes, ExactEvmScheme, toClientEvmSigner } from '@x402/evm'
import { type x402Client as Client, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { openEvmPaymentChain } from '#payments/evm/evm-payment-chain.ts'
import { type LocalFacilitator, openLocalFacilitator } from '#payments/evm/local-facilitator.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { PaymentChain } from '#payments/payment/payment.ts'
import { TopUps, type TopUpsOptions } from '#payments/top-ups/top-up.ts'
import { topUpRoute } from '#service/capabilities/billing/routes.ts'
import type { Call } from '#service/http/route.ts'
import type { Service } from '#service/http/service.ts'
import { openTemporaryStore } from '../ledger/store/sqlite-folder.ts'
import { openRpcGate, type RpcGate } from './rpc-gate.ts'
import { newAccount, type TestChain, tokenName } from './test-chain.ts'

export const publicUrl = 'http://127.0.0.1:8402'

export interface World {
  chain: TestChain
  gate: RpcGate
  option: PaymentOption
  facilitator: LocalFacilitator
  paymentChain: PaymentChain
  clock: { offsetMs: number; now(): number }
  /** Messages, and the facts that came with them. */
  logged: string[]
  facts: object[]
  opened: Awaited<ReturnType<typeof openTemporaryStore>>
  topUps: TopUps
  /** Other parts in place of the real ones; the store is the same unless it is said. */
  compose(parts?: Partial<TopUpsOptions>): TopUps
  dispose(): Promise<void>
}

export async function openWorld(chain: TestChain): Promise<World> {
  const gate = await openRpcGate(chain.url)
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAccount(key).address)
  const option = optionTo(newAccount().address)
  const opened = await openTemporaryStore()
  const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs }
  const logged: string[] = []
  const facts: object[] = []
  const note = (fact: object, message: string) => {
    facts.push(fact)
    logged.push(message)
  }
  const facilitator = await openLocalFacilitator({ network: evmNetwork, rpcUrl: gate.url, key })
  const paymentChain = await openEvmPaymentChain({ rpcUrl: gate.url, confirmations: 0 })
  const compose = (parts: Partial<TopUpsOptions> = {}) =>
    new TopUps({
      settings: { publicUrl, paymentOptions: [option] },
      store: opened.store,
      clock,
      log: { info: note, warn: note, error: note },
      facilitator,
      chain: paymentChain,
      owner: randomUUID(),
      ...parts,
    })
  const topUps = compose()
  const dispose = async () => {
    await topUps.close()
    await opened.dispose()
    await gate.close()
  }
  return { chain, gate, option, facilitator, paymentChain, clock, logged, facts, opened, topUps, compose, dispose }
}

export const optionTo = (payTo: string): PaymentOption => ({
  scheme: 'exact',
  network: evmNetwork,
  amount: '5000000',
  asset: usdcOnEvm,
  payTo,
  maxTimeoutSeconds: 300,
  extra: { name: tokenName, version: '2' },
})

/** The route as a client meets it, without the limits that come before it. */
export const doorOf =
  (topUps: TopUps): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init)
    const headers = new Headers()
    const call = {
      address: '127.0.0.1',
      count: async () => {},
      header: (name: string) => (request.headers.has(name) ? [String(request.headers.get(name))] : []),
      set: (codec, value) => headers.set(codec.name, codec.format(value)),
    } as Partial<Call> as Call<typeof topUpRoute.operation>
    try {
      const reply = await topUpRoute.answer(call, { payments: topUps } as unknown as Service)
      return Response.json('body' in reply ? reply.body : null, { status: 200, headers })
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return Response.json(error.body, { status: error.status, headers: error.headers })
    }
  }

export const topUpUrl = `${publicUrl}/api/v1/x402/top-up`

type Account = ReturnType<typeof newAccount>

/** The stock client with its own caps off: 5 USD is above its default. */
export const stockClient = (account: Account): Client =>
  new x402Client().setSpendControls(false).register(evmNetwork, new ExactEvmScheme(toClientEvmSigner(account)))

export const payingFetch = (topUps: TopUps, account: Account) =>
  wrapFetchWithPayment(doorOf(topUps), stockClient(account))

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

// biome-ignore lint/suspicious/noExplicitAny: a payment is mutated in every way that its type forbids
export type Loose = any

/** A payment as the stock client signs it for this offer, decoded. */
export async function sign(account: Account, option: PaymentOption): Promise<Loose> {
  const accepts = [option] as Parameters<Client['createPaymentPayload']>[0]['accepts']
  const resource = { url: topUpUrl, description: '', mimeType: 'application/json' }
  const payload = await stockClient(account).createPaymentPayload({ x402Version: 2, resource, accepts })
  return JSON.parse(JSON.stringify(payload))
}

/** Signs an authorization with members of its own in place of those that the stock client would choose. */
export async function signAs(account: Account, option: PaymentOption, members: object): Promise<Loose> {
  const payment = await sign(account, option)
  const authorization = { ...payment.payload.authorization, ...members }
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const signature = await account.signTypedData({
    domain: { ...(option.extra as object), chainId: 8453, verifyingContract: option.asset as `0x${string}` },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
      nonce,
    },
  })
  return { ...payment, payload: { signature, authorization } }
}

export interface Answer {
  status: number
  body: Loose
  text: string
  headers: Headers
}

export async function send(topUps: TopUps, payment: unknown, name = 'PAYMENT-SIGNATURE'): Promise<Answer> {
  const value = typeof payment === 'string' ? payment : encode(payment)
  const response = await doorOf(topUps)(topUpUrl, { method: 'POST', headers: { [name]: value } })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), text, headers: response.headers }
}

export const creditOf = async ({ opened }: Pick<World, 'opened'>, address: string): Promise<bigint> =>
  (await balanceOf(opened.store, `wallet:${address.toLowerCase()}`)).postedMicroUsd

/** A funded payer with a signed payment of 5 USD. */
export async function payer(world: World, microUsd = 20_000_000n): Promise<{ account: Account; payment: Loose }> {
  const account = newAccount()
  if (microUsd > 0n) await world.chain.mint(account.address, microUsd)
  return { account, payment: await sign(account, world.option) }
}

export const withFacilitator = (facilitator: Facilitator, changes: Partial<Facilitator>): Facilitator => ({
  verify: payment => facilitator.verify(payment),
  settle: payment => facilitator.settle(payment),
  supported: () => facilitator.supported(),
  problem: option => facilitator.problem(option),
  ...changes,
})

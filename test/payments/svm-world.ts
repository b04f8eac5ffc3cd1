import { randomUUID } from 'node:crypto'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import type { Store } from '#ledger/store/store.ts'
import { feesPerHourLamports } from '#payments/bounds.ts'
import { FeeBudget } from '#payments/facilitators/fee-budget.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import { LocalSvmFacilitator } from '#payments/solana/local-svm-facilitator.ts'
import { SvmPaymentChain } from '#payments/solana/svm-payment-chain.ts'
import { TopUps, type TopUpsOptions } from '#payments/top-ups/top-up.ts'
import { type OpenedService, openService } from '../service/open-service.ts'
import { newSvmAccount, type SvmAccount, type SvmChain } from './svm-chain.ts'
import { openSvmGate, type SvmGate } from './svm-gate.ts'
import { encode, type Loose, publicUrl, topUpUrl } from './top-up-world.ts'

export interface SvmWorld {
  chain: SvmChain
  gate: SvmGate
  feePayer: SvmAccount
  payee: SvmAccount
  option: PaymentOption
  facilitator: LocalSvmFacilitator
  feeBudget: FeeBudget
  paymentChain: SvmPaymentChain
  clock: { offsetMs: number; now(): number }
  logged: { message: string; facts: object }[]
  opened: OpenedService
  topUps: TopUps
  /** Another process of the same store, with other parts in place of the real ones. */
  compose(parts?: Partial<TopUpsOptions>): TopUps
  dispose(): Promise<void>
}

/** The whole application that takes payments on a Solana chain. */
export async function openSvmWorld(
  chain: SvmChain,
  made: { payeeAccount?: boolean; sol?: bigint } = {},
): Promise<SvmWorld> {
  const gate = await openSvmGate(chain.url)
  const [feePayer, payee] = [await newSvmAccount(), await newSvmAccount()]
  if (made.sol !== 0n) chain.node.airdrop(feePayer.signer.address, made.sol ?? 1_000_000_000n)
  if (made.payeeAccount !== false) await chain.mint(payee.address, 0n)
  const option: PaymentOption = {
    ...{ scheme: 'exact', network: solanaNetwork, amount: '5000000', asset: usdcOnSolana, payTo: payee.address },
    ...{ maxTimeoutSeconds: 300, extra: { feePayer: feePayer.address } },
  }
  const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs }
  const logged: SvmWorld['logged'] = []
  const note = (facts: object, message: string) => void logged.push({ message, facts })
  const rpcUrl = gate.url
  const fees = new FeeBudget({ perHour: feesPerHourLamports, clock })
  const facilitator = new LocalSvmFacilitator({
    network: solanaNetwork,
    rpcUrl,
    feePayer: feePayer.key,
    fees,
    patienceMs: 800,
  })
  const paymentChain = new SvmPaymentChain({ rpcUrl, commitment: 'confirmed', feePayer: feePayer.key })
  const composeOn = (store: Store, parts: Partial<TopUpsOptions> = {}) =>
    new TopUps({
      settings: { publicUrl, paymentOptions: [option] },
      store,
      clock,
      log: { info: note, warn: note, error: note },
      facilitator: new RailFacilitators({ svm: facilitator }),
      chain: new RailChains({ svm: paymentChain }),
      owner: randomUUID(),
      ...parts,
    })
  let topUps: TopUps | undefined
  const opened = await openService({
    payments: store => {
      topUps = composeOn(store)
      return topUps
    },
  })
  if (!topUps) throw new Error('the service was opened without payments')
  return {
    ...{
      chain,
      gate,
      feePayer,
      payee,
      option,
      facilitator,
      feeBudget: fees,
      paymentChain,
      clock,
      logged,
      opened,
      topUps,
    },
    compose: parts => composeOn(opened.store, parts),
    async dispose() {
      await opened.close()
      await gate.close()
    },
  }
}

/** The stock client with its own caps off: 5 USD is above its default. */
export const stockSvmClient = (account: SvmAccount, rpcUrl: string) =>
  new x402Client().setSpendControls(false).register(solanaNetwork, new ExactSvmScheme(account.signer, { rpcUrl }))

/** The application over fetch; limits of requests a minute belong to other tests. */
const doorOf =
  (world: SvmWorld): typeof fetch =>
  (input, init) => {
    world.opened.clock.pass(61_000)
    return Promise.resolve(world.opened.service.app.request(new Request(input, init)))
  }

export const payingFetch = (world: SvmWorld, account: SvmAccount) =>
  wrapFetchWithPayment(doorOf(world), stockSvmClient(account, world.chain.url))

/** A payment as the stock client signs it for this offer, decoded. */
export async function signSvm(world: SvmWorld, account: SvmAccount, option = world.option): Promise<Loose> {
  const client = stockSvmClient(account, world.chain.url)
  const resource = { url: topUpUrl, description: '', mimeType: 'application/json' }
  const accepts = [option] as Parameters<typeof client.createPaymentPayload>[0]['accepts']
  return JSON.parse(JSON.stringify(await client.createPaymentPayload({ x402Version: 2, resource, accepts })))
}

export interface SvmAnswer {
  status: number
  body: Loose
  text: string
  headers: Headers
}

export async function sendSvm(world: SvmWorld, payment: unknown, init: RequestInit = {}): Promise<SvmAnswer> {
  const value = typeof payment === 'string' ? payment : encode(payment)
  const headers = { 'PAYMENT-SIGNATURE': value, ...(init.headers as Record<string, string>) }
  const response = await doorOf(world)(topUpUrl, { method: 'POST', ...init, headers })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), text, headers: response.headers }
}

/** Credit of a wallet in the ledger. */
export const creditOf = async ({ opened }: SvmWorld, wallet: string): Promise<bigint> =>
  (await balanceOf(opened.store, `wallet:${wallet}`)).postedMicroUsd

/** A funded payer. */
export async function svmPayer(world: SvmWorld, microUsd = 20_000_000n): Promise<SvmAccount> {
  const account = await newSvmAccount()
  if (microUsd > 0n) await world.chain.mint(account.address, microUsd)
  return account
}

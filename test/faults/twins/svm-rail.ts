import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { address } from '@solana/kit'
import { systemClock } from '#contract/time.ts'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import { FeeBudget } from '#payments/facilitators/fee-budget.ts'
import type { Facilitator, Settlement } from '#payments/facilitators/rail.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import { LocalSvmFacilitator } from '#payments/solana/local-svm-facilitator.ts'
import { SvmPaymentChain } from '#payments/solana/svm-payment-chain.ts'
import { newSvmAccount, type SvmChain, startSvmChain } from '../../payments/svm-chain.ts'
import { stockSvmClient } from '../../payments/svm-world.ts'
import { topUpUrl } from '../../payments/top-up-world.ts'
import type { Behaviour } from './behaviours.ts'
import { facilitatorAnswerMs, lateMs } from './bounds.ts'
import type { BadSettling, Rail, Transfer } from './rail.ts'

/** One call to settle at a facilitator in this process. */
export interface PortSettling {
  /** Settles for real. */
  settle(): Promise<Settlement>
  /** The same, later, without a waiting caller. */
  settleLate(): void
  /** How often this payment has come before. */
  before: number
  /** How long the service would wait for an answer. */
  answerMs: number
  /** The name of a transaction that does not exist. */
  madeUp(): string
}

async function afterwards({ settle }: PortSettling, what: string): Promise<never> {
  await settle()
  throw new Error(what)
}

/** The same behaviours without a connection in between: what was lost there is thrown here. */
export const behaveAtPort: Readonly<Record<Behaviour, (settling: PortSettling) => Promise<Settlement>>> = {
  async 'settles and never answers'(settling) {
    await settling.settle()
    await sleep(settling.answerMs)
    throw new Error('There was no answer in time.')
  },
  'settles and answers 500': settling => afterwards(settling, 'The answer was 500.'),
  'settles and breaks the connection': settling => afterwards(settling, 'The connection broke.'),
  'settles and answers garbage': settling => afterwards(settling, 'The answer could not be read.'),

  async 'settles long after nobody waits any more'({ settleLate, answerMs }) {
    await sleep(answerMs)
    settleLate()
    throw new Error('There was no answer in time.')
  },

  async 'answers success before it settles, and again each time'({ settleLate, before, madeUp }) {
    if (before === 0) settleLate()
    return { state: 'settled', transaction: madeUp() }
  },

  async 'answers success before it settles, then 409'({ settleLate, before, madeUp }) {
    if (before > 0) return { state: 'doubtful', why: 'The facilitator says duplicate_settlement.' }
    settleLate()
    return { state: 'settled', transaction: madeUp() }
  },
}

const fiveMicroUsd = 5_000_000n
const lamports = 10_000_000_000n

/** A separate chain; the hostile facilitator runs in this process, in front of a facilitator with our own fee payer. */
export async function openSvmRail(): Promise<Rail> {
  const chain = await startSvmChain()
  const [feePayer, payee] = [await newSvmAccount(), await newSvmAccount()]
  chain.node.airdrop(feePayer.signer.address, lamports)
  await chain.mint(payee.address, 0n)
  const option: PaymentOption = {
    scheme: 'exact',
    network: solanaNetwork,
    amount: `${fiveMicroUsd}`,
    asset: usdcOnSolana,
    payTo: payee.address,
    maxTimeoutSeconds: 300,
    extra: { feePayer: feePayer.address },
  }
  const fees = new FeeBudget({ perHour: lamports, clock: systemClock })
  const rpcUrl = chain.url
  const honest = new LocalSvmFacilitator({ network: solanaNetwork, rpcUrl, feePayer: feePayer.key, fees })
  return {
    option,
    chain: new RailChains({ svm: new SvmPaymentChain({ rpcUrl, commitment: 'confirmed', feePayer: feePayer.key }) }),
    settleBadly: async behaviour => settleBadly(new RailFacilitators({ svm: honest }), behaviour),
    async pay() {
      const account = await newSvmAccount()
      await chain.mint(account.address, fiveMicroUsd)
      const client = stockSvmClient(account, rpcUrl)
      const resource = { url: topUpUrl, description: '', mimeType: 'application/json' }
      const accepts = [option] as Parameters<typeof client.createPaymentPayload>[0]['accepts']
      const payment = await client.createPaymentPayload({ x402Version: 2, resource, accepts })
      return { payer: account.address, payment }
    },
    transfers: () => transfersTo(chain, payee.address),
    close: () => chain.stop(),
  }
}

function settleBadly(honest: Facilitator, behaviour: Behaviour): BadSettling {
  const seen = new Map<string, number>()
  const late = new Set<Promise<unknown>>()
  let settlements = 0
  const settle: Facilitator['settle'] = async payment => {
    settlements++
    const before = seen.get(payment.key) ?? 0
    seen.set(payment.key, before + 1)
    const settleLate = () => {
      const work = sleep(lateMs).then(() => honest.settle(payment))
      late.add(work)
      void work.catch(() => undefined).finally(() => late.delete(work))
    }
    return behaveAtPort[behaviour]({
      settle: () => honest.settle(payment),
      settleLate,
      before,
      answerMs: facilitatorAnswerMs.settle,
      madeUp: () => encodeBase58(randomBytes(64)),
    })
  }
  return {
    openFacilitator: async () => ({
      verify: payment => honest.verify(payment),
      settle,
      supported: () => honest.supported(),
      problem: offered => honest.problem(offered),
    }),
    settlements: () => settlements,
    async quiet() {
      while (late.size > 0) await Promise.allSettled(late)
    },
    close: async () => {},
  }
}

/** Transactions that moved the token to this wallet's account, each with the wallet that it came from. */
async function transfersTo(chain: SvmChain, payee: string): Promise<Transfer[]> {
  const account = await usdcAccountOf(address(payee))
  return chain.node.executedWith(account).flatMap(({ err, signature, preTokenBalances, postTokenBalances }) => {
    const amountOf = (owner: string, balances: typeof preTokenBalances) =>
      BigInt(balances.find(each => each.owner === owner)?.uiTokenAmount.amount ?? 0)
    const amountMicroUsd = amountOf(payee, postTokenBalances) - amountOf(payee, preTokenBalances)
    const from = preTokenBalances.find(({ owner }) => owner !== payee)?.owner ?? ''
    return err === null && amountMicroUsd !== 0n ? [{ from, amountMicroUsd, transaction: signature }] : []
  })
}

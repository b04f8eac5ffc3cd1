/** A node of Solana that says what a test tells it, and the chains that read a payment from it. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { readMessage, wireOf } from '#payments/solana/solana-message.ts'
import type { SolanaCommitment } from '#payments/solana/solana-node.ts'
import { SvmPaymentChain } from '#payments/solana/svm-payment-chain.ts'
import type { SvmPayment } from '#payments/solana/svm-rail.ts'
import { type Question, type Said, startScriptedNode } from './scripted-node.ts'
import { signedSvmPayment } from './signed-svm-payment.ts'

export let made: Awaited<ReturnType<typeof signedSvmPayment>>
export let other: SvmPayment
export let node: Awaited<ReturnType<typeof startScriptedNode>>

/** What the node knows, by the names of transactions. */
export let known: {
  statuses: Map<string, object>
  executed: Map<string, object>
  /** Transactions of a version that was not asked for. */
  later: string[]
  /** Of the payer's account, the newest first. */
  listed: { signature: string; slot: number }[]
  head: { absoluteSlot: number; blockHeight: number }
  slot: number
  /** The times that a node which is far behind tells the status. */
  behind: number[]
  genesis: string
  /** Whether the finalized chain still accepts the payment's blockhash, by a node that has reached this slot. */
  blockhash: { isValid: boolean; slot: number }
  /** The oldest block that the node has. */
  firstBlock: number
  fails: string | null
  /** Happens while the head is asked for. */
  onHead(): void
}

const pageOf = 1_000

function say({ method, params }: Question): Said {
  const [first, second] = params
  if (method === known.fails) return null
  switch (method) {
    case 'getSignatureStatuses': {
      const [signature] = first as string[]
      const times = node.asked.filter(question => question.method === method).length
      if (known.behind.includes(times)) return { result: { context: { slot: 1 }, value: [null] } }
      return { result: { context: { slot: known.slot }, value: [known.statuses.get(signature ?? '') ?? null] } }
    }
    case 'getTransaction':
      if (known.later.includes(String(first))) return { error: { code: -32015, message: 'version (1)' } }
      return { result: known.executed.get(String(first)) ?? null }
    case 'getEpochInfo':
      known.onHead()
      return { result: known.head }
    case 'getGenesisHash':
      return { result: known.genesis }
    case 'isBlockhashValid': {
      const { isValid, slot } = known.blockhash
      return { result: { context: { slot }, value: isValid } }
    }
    case 'getFirstAvailableBlock':
      return { result: known.firstBlock }
    case 'getSignaturesForAddress': {
      const { before } = second as { before?: string }
      const from = before === undefined ? 0 : known.listed.findIndex(({ signature }) => signature === before) + 1
      return { result: first === made.source ? known.listed.slice(from, from + pageOf) : [] }
    }
    default:
      return { error: { code: -32601, message: method } }
  }
}

/** A new payment for each file, and a node that knows nothing for each test. */
export function tellSolanaForEachTest(): void {
  beforeAll(async () => {
    made = await signedSvmPayment()
    other = (await signedSvmPayment()).payment
    node = await startScriptedNode(say)
  })
  afterAll(() => node.close())
  beforeEach(() => {
    node.asked.length = 0
    known = {
      ...{ statuses: new Map(), executed: new Map(), listed: [], slot: 5_000, fails: null, onHead: () => undefined },
      head: { absoluteSlot: 5_000, blockHeight: 4_000 },
      genesis: `${solanaNetwork.slice('solana:'.length)}AndMore`,
      ...{ blockhash: { isValid: false, slot: 5_000 }, firstBlock: 0, behind: [], later: [] },
    }
  })
  afterEach(() => {
    known.fails = null
  })
}

export const stranger = '1'.repeat(32)
export const name = (number: number) => `name of ${number}`

export interface Executed {
  payment?: SvmPayment
  err?: unknown
  blockTime?: number | null
  before?: string
  after?: string
  mint?: string
  account?: string
}

/** A transaction as a node tells it: what was paid is the payee's rise. */
export function executed(changes: Executed = {}) {
  const { payment = made.payment, err = null, blockTime = 1_000, before = '1', after = '5000001' } = changes
  const { mint = usdcOnSolana, account = made.payment.destination } = changes
  const message = readMessage(Buffer.from(made.payment.message, 'base64'))
  const balance = (amount: string) => [
    { accountIndex: 99, mint, uiTokenAmount: { amount: '77' } },
    { accountIndex: message?.accounts.indexOf(account), mint, uiTokenAmount: { amount } },
  ]
  return {
    meta: { err, preTokenBalances: balance(before), postTokenBalances: balance(after) },
    transaction: [wireOf(new Uint8Array(64), payment), 'base64'],
    blockTime,
  }
}

interface Asking {
  payment?: SvmPayment
  transaction?: string | null
  commitment?: SolanaCommitment
  chain?: SvmPaymentChain
}
export const ownChain = (commitment: SolanaCommitment = 'confirmed') =>
  new SvmPaymentChain({ rpcUrl: node.url, commitment, feePayer: made.feePayer.key })
export const othersChain = (searchedTransactions?: number) => {
  const limit = searchedTransactions === undefined ? {} : { searchedTransactions }
  return new SvmPaymentChain({ rpcUrl: node.url, commitment: 'confirmed', feePayer: null, ...limit })
}

export async function find({
  payment = made.payment,
  transaction = null,
  commitment,
  chain,
}: Asking = {}): Promise<unknown> {
  const found = (chain ?? ownChain(commitment)).find(payment, transaction)
  return found.catch((error: unknown) => error)
}
export const claimed = (lastBlockHeight = 4_000) => ({ ...made.payment, lastBlockHeight })
export const methods = () => node.asked.map(({ method }) => method)

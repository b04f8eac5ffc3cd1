import type { MicroUsd } from '#contract/money.ts'
import { tokenBalance } from '../chains/balance.ts'
import { signExactPayment } from '../chains/evm.ts'
import type { ChainNodes } from '../chains/nodes.ts'
import { latestBlockhash, signSvmPayment } from '../chains/solana.ts'
import type { WalletKey } from '../keys/keys.ts'
import { lastPayer } from '../records/journal.ts'
import type { Records, Work } from '../records/records.ts'
import { chooseOffer } from '../rules/choose-offer.ts'
import { amountOf } from '../rules/decide.ts'
import { payeesOf } from '../rules/payees.ts'
import { namespaceOf, type Policy, railOf } from '../rules/policy.ts'
import type { ChosenOffer, Order, Payee, SignedPayment } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Pause } from './top-up-lease.ts'

export interface PayContext {
  records: Records
  /** The folder of the stop file. */
  folder: string
  /** One per rail, Base first. */
  keys: readonly WalletKey[]
  key: WalletKey
  /** As configured by the owner; within a payment, those that may be used for it. */
  nodes: ChainNodes
  /** The account in which credit was found before this wallet ever paid. */
  found: { address: string | null }
  policy: Policy
  /** Records outside the data folder how far the journal has come; refuses if it lacks what was recorded. */
  noteJournal(): Promise<void>
  pause: Pause
}

interface Candidate {
  key: WalletKey
  chosen: ChosenOffer
}

/**
 * Returns the context with the key that pays: the one that has paid before, because credit and jobs belong to its
 * account at the service; before the first payment the one whose account has credit, else the best of those with an
 * acceptable offer. A payment costs the same on every rail, because none charges the payer a fee.
 */
export async function withPayer(context: PayContext, order: Order): Promise<PayContext> {
  const [only, ...others] = context.keys
  if (others.length === 0 || only === undefined) return context
  const candidates = await candidatesOf(context, order)
  const earlier = await accountOf(context)
  const key = candidates.find(({ key }) => key === earlier)?.key ?? (await best(context, candidates, amountOf(order)))
  return { ...context, key: key ?? earlier ?? context.key }
}

/** Returns the key whose account at the service is used; null before that is decided. */
export async function accountOf({ records, keys, policy, found }: PayContext): Promise<WalletKey | null> {
  const addresses = keys.map(({ address }) => address)
  const payer = await records.read(() => payerAmong(policy, addresses, found.address))
  return keys.find(({ address }) => address === payer) ?? null
}

/**
 * Of the addresses for which the policy has a rail, returns the one that paid last, or else the one whose account was
 * found to have credit.
 */
export function* payerAmong(policy: Policy, addresses: readonly string[], found: string | null): Work<string | null> {
  const allowed = addresses.filter(address => railOf(policy, address) !== null)
  if (allowed.length < 2) return allowed[0] ?? null
  return (yield* lastPayer(allowed, policy.origin)) ?? found
}

async function candidatesOf({ keys, policy, records }: PayContext, order: Order): Promise<Candidate[]> {
  const approved = await records.read(() => payeesOf(policy.origin))
  const known: readonly Payee[] = [...policy.payees, ...approved]
  return keys.flatMap(key => {
    const choice = chooseOffer({ policy, amount: amountOf(order), payer: key.address }, order, known)
    return choice.kind === 'chosen' ? [{ key, chosen: choice.chosen }] : []
  })
}

/** Prefers known payees, then keys that can sign, then balances (enough, unknown, too little), then Base. */
async function best(
  context: PayContext,
  candidates: readonly Candidate[],
  amount: MicroUsd,
): Promise<WalletKey | null> {
  const known = candidates.filter(({ chosen }) => chosen.isKnownPayee)
  const usable = (known.length > 0 ? known : candidates).filter(({ key }) => canSign(context, key))
  if (usable.length < 2) return usable[0]?.key ?? known[0]?.key ?? candidates[0]?.key ?? null
  const ranks = await Promise.all(usable.map(({ key }) => fundsRank(context, key, amount)))
  return usable[ranks.indexOf(Math.max(...ranks))]?.key ?? null
}

/** Without a node nothing can be signed for Solana. */
const canSign = ({ nodes }: PayContext, { address }: WalletKey): boolean =>
  namespaceOf(address) === 'eip155' || nodes.solana !== undefined

async function fundsRank({ policy, nodes }: PayContext, { address }: WalletKey, amount: MicroUsd): Promise<number> {
  const rail = railOf(policy, address)
  const balance = rail && (await tokenBalance(nodes, rail, address))
  if (balance === null) return 1
  return balance >= amount ? 2 : 0
}

/** Signs one payment as planned; makes no requests. */
export type Sign = (chosen: ChosenOffer, amountMicroUsd: MicroUsd, nowMs: number) => Promise<SignedPayment>

/**
 * Makes all requests to the key's chain beforehand, so that nothing can fail between planning a payment and signing it.
 */
export async function signerOf({ key, nodes }: Pick<PayContext, 'key' | 'nodes'>): Promise<Sign> {
  if (key.namespace === 'eip155') return (chosen, amount, nowMs) => signExactPayment(key, chosen, amount, nowMs)
  const lifetime = await latestBlockhash(nodes.solana ?? noNode())
  return (chosen, amount, nowMs) => signSvmPayment(key, chosen, amount, lifetime, nowMs)
}

export function noNode(): never {
  throw new WalletRefusal({
    rule: 'node',
    sentence: 'A payment on Solana needs a node of that chain, and none is set.',
    nextStep: 'Nothing was signed; the user can set FAREBOX_SOLANA_RPC_URL.',
  })
}

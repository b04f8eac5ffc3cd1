import type { MicroUsd } from '#contract/money.ts'
import { signExactPayment } from '../chains/evm.ts'
import { tokenBalance } from '../chains/look-at-chain.ts'
import type { ChainNodes } from '../chains/nodes.ts'
import { latestBlockhash, signSvmPayment } from '../chains/solana.ts'
import type { WalletKey } from '../keys/keys.ts'
import { lastPayer } from '../records/journal.ts'
import type { Records, Work } from '../records/records.ts'
import { chooseOption } from '../rules/choose-option.ts'
import { amountOf } from '../rules/decide.ts'
import { payeesOf } from '../rules/payees.ts'
import { namespaceOf, type Policy, railOf } from '../rules/policy.ts'
import type { ChosenOption, Order, Payee, SignedPayment } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Pause } from './top-up-lease.ts'

/** What it takes to pay. */
export interface PayContext {
  records: Records
  /** Where the switch-off file would lie. */
  folder: string
  /** One a rail, Base first. */
  keys: readonly WalletKey[]
  /** The one that pays. */
  key: WalletKey
  /** As the owner has named them; within a payment those that may be asked about it. */
  nodes: ChainNodes
  /** The account that was found to have credit before this wallet has ever paid. */
  found: { address: string | null }
  policy: Policy
  /** Notes outside of the data folder how far the journal has come; refused where it lacks what was noted. */
  noteJournal(): Promise<void>
  pause: Pause
}

interface Candidate {
  key: WalletKey
  chosen: ChosenOption
}

/**
 * The same context with the key that pays: the one that has paid before, because credit and jobs lie in its account at the
 * service; before the first payment the one whose account has credit, else the best of those with an acceptable offer.
 * What a payment costs is the same on every rail, since neither takes a fee from the payer.
 */
export async function withPayer(context: PayContext, order: Order): Promise<PayContext> {
  const [only, ...others] = context.keys
  if (others.length === 0 || only === undefined) return context
  const candidates = await candidatesOf(context, order)
  const earlier = await accountOf(context)
  const key = candidates.find(({ key }) => key === earlier)?.key ?? (await best(context, candidates, amountOf(order)))
  return { ...context, key: key ?? earlier ?? context.key }
}

/** The key whose account at the service is used; null before that is decided. */
export async function accountOf({ records, keys, policy, found }: PayContext): Promise<WalletKey | null> {
  const addresses = keys.map(({ address }) => address)
  const payer = await records.read(() => payerAmong(policy, addresses, found.address))
  return keys.find(({ address }) => address === payer) ?? null
}

/** Of the addresses that the policy has a rail for, the one that has paid last, else the one that was found to have credit. */
export function* payerAmong(policy: Policy, addresses: readonly string[], found: string | null): Work<string | null> {
  const allowed = addresses.filter(address => railOf(policy, address) !== null)
  if (allowed.length < 2) return allowed[0] ?? null
  return (yield* lastPayer(allowed, policy.origin)) ?? found
}

async function candidatesOf({ keys, policy, records }: PayContext, order: Order): Promise<Candidate[]> {
  const approved = await records.read(() => payeesOf(policy.origin))
  const known: readonly Payee[] = [...policy.payees, ...approved]
  return keys.flatMap(key => {
    const choice = chooseOption({ policy, amount: amountOf(order), payer: key.address }, order, known)
    return choice.kind === 'chosen' ? [{ key, chosen: choice.chosen }] : []
  })
}

/** Known payees first, then keys that can be asked to sign, then what they hold: enough, unknown, too little; then Base. */
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

/** Signs one payment as it was planned; asks nobody any more. */
export type Sign = (chosen: ChosenOption, amountMicroUsd: MicroUsd, nowMs: number) => Promise<SignedPayment>

/** Asks beforehand what the key's chain has to say, so that nothing can fail between the plan of a payment and its signature. */
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

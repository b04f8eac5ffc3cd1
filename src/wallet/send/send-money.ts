import { displayUsd, type MicroUsd, microUsd, parseUsd } from '#contract/money.ts'
import { chainName } from '#contract/wire/networks.ts'
import { EvmPayload, type PaymentOption } from '#contract/wire/payment.ts'
import { balanceAndTime } from '../chains/balance.ts'
import { signExactPayment, tokenDomain } from '../chains/evm.ts'
import { isPublicMoney, noNodeFor } from '../chains/nodes.ts'
import { latestBlockhash, signSvmPayment } from '../chains/solana.ts'
import { newId } from '../ids.ts'
import type { WalletKey } from '../keys/keys.ts'
import * as limits from '../limits.ts'
import { type Pause, type TopUpLease, withTopUpLease } from '../payment/top-up-lease.ts'
import { openPayments } from '../records/journal.ts'
import type { Work } from '../records/records.ts'
import {
  openTransfers,
  planTransfer,
  type Transfer,
  transferDead,
  transferOf,
  transferSent,
  transferSigned,
  transferUnknown,
} from '../records/transfer-rows.ts'
import { wrongClock } from '../rules/decide.ts'
import { payeesOf } from '../rules/payees.ts'
import { namespaceOf, type Policy, sameAddress } from '../rules/policy.ts'
import { refuseWhenStopped } from '../rules/stop-switch.ts'
import type { Rail, SignedPayment } from '../terms/order.ts'
import { type Rule, WalletRefusal } from '../terms/refusal.ts'
import { type Recipient, readRecipient } from './recipient.ts'
import { printedSettler, type Settler, type SettlerAnswer } from './settler.ts'
import { followTransfer, followTransfers, nodesFor, signedFor, type TransferRecords } from './transfer-end.ts'

/**
 * Money that the owner sends out of the wallet. No cap applies, and nothing that a model can call leads here. A
 * transfer is an x402 payment to any address, so a facilitator pays the network's fee. It has the states of a payment:
 * a row before the signature, the same bytes when it is repeated, and an end that only the chain decides.
 */
export interface TransferContext extends TransferRecords {
  folder: string
  policy: Pick<Policy, 'origin' | 'dryRun' | 'payees'>
  /** The wallet's addresses, one for each rail. */
  addresses: readonly string[]
  /** Records outside the data folder how far the journal is. */
  noteJournal(): Promise<void>
  pause: Pause
}

/** The transfer, for the user to confirm. */
export interface PreparedTransfer extends Rail {
  kind: 'prepared'
  /** The open transfer that is continued; null for a new one. */
  earlierId: string | null
  from: string
  payTo: string
  amountMicroUsd: MicroUsd
  /** The address's balance, and the part that pending payments may still take. */
  balanceMicroUsd: MicroUsd
  heldMicroUsd: MicroUsd
  notes: readonly string[]
}

/** The user repeated a command whose outcome was not shown, and the earlier transfer has arrived. */
export interface ArrivedTransfer {
  kind: 'arrived'
  transfer: Transfer
}

/** `amount` is USD as decimal text, or `all`. Signs nothing. Throws a refusal if the transfer is not allowed. */
export async function prepareTransfer(
  context: TransferContext,
  { to, amount }: { to: string; amount: string },
): Promise<PreparedTransfer | ArrivedTransfer> {
  const asked = amount === 'all' ? null : amountIn(amount)
  await refuseNow(context)
  const recipient = await recipientOf(context, to)
  const from = context.addresses.find(address => namespaceOf(address) === namespaceOf(recipient.payTo))
  if (from === undefined)
    throw refusal(
      'network',
      `This wallet has no address on ${chainName(recipient.network)}.`,
      'Give an address on the other chain; `farebox wallet address` shows the wallet’s own.',
    )
  const earlier = await earlierOf(context, from, { payTo: recipient.payTo, asked })
  if (earlier?.state === 'confirmed') return { kind: 'arrived', transfer: earlier }
  const { balance, held } = await fundsOf(context, recipient, from)
  const common = { kind: 'prepared', ...recipient, from, balanceMicroUsd: balance, heldMicroUsd: held } as const
  if (earlier) return { ...common, earlierId: earlier.id, amountMicroUsd: earlier.amountMicroUsd }
  const amountMicroUsd = asked ?? microUsd(balance > held ? balance - held : 0n)
  refuseBeyond(recipient, from, { balance, held }, amountMicroUsd)
  return { ...common, earlierId: null, amountMicroUsd }
}

async function recipientOf(context: TransferContext, to: string): Promise<Recipient> {
  const payees = await context.records.read(() => payeesOf(context.policy.origin))
  const not = { own: context.addresses, payees: [...context.policy.payees, ...payees].map(({ payTo }) => payTo) }
  return readRecipient(to, not, nodesFor(context))
}

function amountIn(text: string): MicroUsd {
  const amount = parseUsd(text)
  if (amount !== null && amount > 0n) return amount
  throw refusal(
    'order',
    'The amount must be a number of USD above 0.',
    'Write it as 5 or 0.25, with at most six decimals, or `all`.',
  )
}

async function refuseNow({ records, folder, policy }: TransferContext): Promise<void> {
  await records.read(() => refuseWhenStopped(folder))
  if (policy.dryRun)
    throw refusal(
      'dry-run',
      'This is a dry run, so nothing is signed.',
      'Unset FAREBOX_DRY_RUN, or remove `dryRun` from policy.json.',
    )
}

interface Terms {
  payTo: string
  /** Null for the whole balance. */
  asked: MicroUsd | null
}

/**
 * Returns the pending transfer with the same terms in its current state; null if there is none. A transfer with other
 * terms must end first.
 */
async function earlierOf(context: TransferContext, from: string, { payTo, asked }: Terms): Promise<Transfer | null> {
  const followed = await followTransfers(context, [from])
  const isSame = (each: Transfer) => sameAddress(each.payTo, payTo) && (asked === null || asked === each.amountMicroUsd)
  const ended = followed.find(each => each.state === 'confirmed' && isSame(each))
  const open = followed.filter(({ state }) => state !== 'confirmed' && state !== 'dead')
  const other = open.find(each => !isSame(each))
  if (other) throw stillOpen(other)
  return open[0] ?? ended ?? null
}

function stillOpen(transfer: Transfer): WalletRefusal {
  const { id, amountMicroUsd, payTo, validBeforeMs } = transfer
  const until = validBeforeMs === null ? '' : `, until ${new Date(validBeforeMs).toISOString()} at the latest`
  return refusal(
    'payment-open',
    `The transfer ${id} of ${displayUsd(amountMicroUsd)} to ${payTo} is still pending${until}.`,
    'Repeat it with the same address and amount, or wait until it has ended; `farebox wallet status` shows it.',
  )
}

interface Funds {
  balance: MicroUsd
  held: MicroUsd
}

/**
 * Returns an address's balance, and the part that signed payments may still take. Refuses if no node answers, or a
 * node's clock differs.
 */
async function fundsOf(context: TransferContext, rail: Rail, from: string): Promise<Funds> {
  const nodes = nodesFor(context)
  const seen = await balanceAndTime(nodes, rail, from)
  if (seen.why === 'no node') noNodeFor(rail.network)
  if (seen.why === 'another chain')
    throw refusal('node', `The configured node is not a ${chainName(rail.network)} node.`, 'Set a node of that chain.')
  if (seen.balance === null)
    throw refusal('node', `The ${chainName(rail.network)} node did not answer.`, 'Try again in a minute.')
  const { held, clock } = await context.records.read(function* (nowMs) {
    const isPublic = isPublicMoney({ origin: context.policy.origin, rails: [], tokenNames: [] })
    const chain = isPublic && seen.nowMs ? [{ whose: 'chain', atMs: seen.nowMs() } as const] : []
    return { held: yield* heldOf(from), clock: wrongClock({ nowMs, otherClocks: chain }) }
  })
  if (clock) throw new WalletRefusal(clock)
  return { balance: microUsd(seen.balance), held: microUsd(held) }
}

/** Payments that were signed and may still be collected. */
function* heldOf(from: string): Work<bigint> {
  const open = (yield* openPayments([from])).filter(({ state }) => state !== 'planned')
  return open.reduce((sum, { amountMicroUsd }) => sum + amountMicroUsd, 0n)
}

function refuseBeyond({ network }: Rail, from: string, { balance, held }: Funds, amount: MicroUsd): void {
  if (amount > 0n && amount <= balance - held) return
  const reserved =
    held > 0n ? `, of which ${displayUsd(held)} is reserved for payments that may still be collected` : ''
  throw refusal(
    'funds',
    `${from} holds ${displayUsd(balance)} in USDC on ${chainName(network)}${reserved}.`,
    balance - held > 0n ? `Send at most ${displayUsd(balance - held)}, or \`all\`.` : 'There is nothing to send.',
  )
}

/**
 * Sends a transfer that the user has confirmed; `settler` is null if the user submits it. Returns its final state, or a
 * pending transfer, which a call with the same terms continues.
 */
export async function sendTransfer(
  context: TransferContext,
  prepared: PreparedTransfer,
  { key, settler, by }: { key: WalletKey; settler: Settler | null; by: string },
): Promise<Transfer> {
  await refuseNow(context)
  return withTopUpLease(context.records, context.pause, async lease => {
    await context.noteJournal()
    await dropPlanned(context, lease, prepared.from)
    const terms = { payTo: prepared.payTo, asked: prepared.amountMicroUsd }
    const earlier = await earlierOf(context, prepared.from, terms)
    if (earlier?.state === 'confirmed') return earlier
    if (!earlier && prepared.earlierId !== null) return endedMeanwhile(context, prepared.earlierId)
    if (earlier && settler) await refuseOtherFeePayer(context, earlier, settler)
    const id = earlier?.id ?? (await signNew(context, lease, prepared, { key, settler, by }))
    return bring(context, lease, id, settler)
  })
}

/** Another process may have recorded the end while the user confirmed. Refuses if the transfer has not arrived. */
async function endedMeanwhile({ records }: TransferContext, id: string): Promise<Transfer> {
  const transfer = await records.read(() => transferOf(id))
  if (transfer.state === 'confirmed') return transfer
  throw refusal('state', 'The earlier transfer has expired without being settled.', 'Run the command again.')
}

/** This process holds the lease, so no other process can still sign a transfer that is only planned. */
const dropPlanned = ({ records }: TransferContext, lease: TopUpLease, from: string): Promise<void> =>
  records.decide(function* (nowMs) {
    yield* lease.check()
    for (const { id, state } of yield* openTransfers([from]))
      if (state === 'planned') yield* transferDead(id, 'never signed', nowMs)
  })

async function refuseOtherFeePayer({ records }: TransferContext, transfer: Transfer, settler: Settler): Promise<void> {
  const { accepted } = await signedFor(records, transfer.id)
  if (!transfer.network.startsWith('solana:')) return
  const signed = accepted.extra?.feePayer
  if ((await settler.feePayerOn(transfer.network, signed)) === signed) return
  throw refusal(
    'payment-open',
    `The transfer ${transfer.id} was signed for another facilitator, ${transfer.settler}.`,
    'Repeat it with that facilitator in `--facilitator`, or wait three minutes until it has expired.',
  )
}

interface Signing {
  key: WalletKey
  settler: Settler | null
  by: string
}

async function signNew(
  context: TransferContext,
  lease: TopUpLease,
  prepared: PreparedTransfer,
  signing: Signing,
): Promise<string> {
  const { records, folder } = context
  const { amountMicroUsd, from } = prepared
  // Checked again, in case the caller changed the prepared transfer after the user confirmed it.
  const { network, asset, payTo } = await recipientOf(context, prepared.payTo)
  refuseBeyond(prepared, from, await fundsOf(context, prepared, from), amountMicroUsd)
  // Everything that can fail is requested before the row is written.
  const sign = await signerFor(context, prepared, signing)
  const id = newId('send')
  const settler = signing.settler?.name ?? printedSettler
  const atMs = await records.decide(function* (nowMs) {
    yield* lease.check()
    yield* refuseWhenStopped(folder)
    yield* planTransfer({ id, address: from, network, asset, payTo, amountMicroUsd, settler, by: signing.by }, nowMs)
    return nowMs
  })
  const signed = await sign(atMs)
  await records.decide(function* (nowMs) {
    yield* lease.check()
    yield* refuseWhenStopped(folder)
    yield* transferSigned(id, signed, nowMs)
  })
  return id
}

async function signerFor(
  context: TransferContext,
  { network, asset, payTo, amountMicroUsd }: PreparedTransfer,
  { key, settler }: Signing,
): Promise<(nowMs: number) => Promise<SignedPayment>> {
  const nodes = nodesFor(context)
  const feePayer = settler && (await settler.feePayerOn(network))
  const option = (maxTimeoutSeconds: number, extra: Record<string, unknown>): PaymentOption => ({
    ...{ scheme: 'exact', network, amount: amountMicroUsd.toString(), asset, payTo, maxTimeoutSeconds, extra },
  })
  const payee = { origin: '', network, asset, payTo }
  if (key.namespace === 'eip155') {
    const { name, version } = await tokenDomain(nodes.eip155 ?? noNodeFor(network), asset)
    const chosen = {
      option: option(settler ? limits.transferSeconds : limits.printedTransferSeconds, { name, version }),
      ...{ payee, isKnownPayee: true, tokenName: name, tokenVersion: version },
    }
    return nowMs => signExactPayment(key, chosen, amountMicroUsd, nowMs)
  }
  if (feePayer === null)
    throw refusal(
      'settings',
      'On Solana, the account that pays the fee is part of what is signed, so a facilitator is needed.',
      'Run the command without `--print`.',
    )
  const lifetime = await latestBlockhash(nodes.solana ?? noNodeFor(network))
  const chosen = {
    option: option(limits.transferSeconds, { feePayer }),
    ...{ payee, isKnownPayee: true, tokenName: '', tokenVersion: '' },
  }
  return nowMs => signSvmPayment(key, chosen, amountMicroUsd, lifetime, nowMs)
}

/** Its row is recorded outside the data folder first, so that an older copy cannot be mistaken for the journal. */
async function bring(
  context: TransferContext,
  lease: TopUpLease,
  id: string,
  settler: Settler | null,
): Promise<Transfer> {
  const { records, folder } = context
  await context.noteJournal()
  const transfer = await records.decide(function* (nowMs) {
    yield* lease.check()
    yield* refuseWhenStopped(folder)
    yield* transferSent(id, settler?.name ?? printedSettler, nowMs)
    return yield* transferOf(id)
  })
  if (!settler) return transfer
  const payment = await signedFor(records, id)
  const { scheme: _, extra, ...accepted } = payment.accepted
  const option = { ...accepted, scheme: 'exact', extra: { ...extra } } as PaymentOption
  return awaitEnd(context, transfer, await settler.settle(payment, option))
}

/** The facilitator's answer is no proof, so the chain is asked until it has the transfer or the time is up. */
async function awaitEnd(context: TransferContext, transfer: Transfer, answer: SettlerAnswer): Promise<Transfer> {
  const reported = answer.kind === 'settled' ? answer.transaction : null
  const patienceMs = answer.kind === 'refused' ? 0 : limits.transferFollowMs
  for (let waitedMs = 0; ; waitedMs += limits.transferPollMs) {
    const now = await followTransfer(context, transfer, reported)
    if (now.state === 'confirmed' || now.state === 'dead') return now
    if (waitedMs >= patienceMs) break
    await context.pause(limits.transferPollMs)
  }
  const reason = answer.kind === 'settled' ? 'reported as settled, not seen on the chain yet' : answer.reason
  return context.records.decide(function* (nowMs) {
    yield* transferUnknown(transfer.id, reason, nowMs)
    return yield* transferOf(transfer.id)
  })
}

/** A signed transfer in the form that other wallets submit: `transferWithAuthorization` of the token's contract. */
export interface PrintedTransfer {
  token: string
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
  v: number
  r: string
  s: string
}

/**
 * Returns a pending transfer on an EVM chain in a form that anyone may submit. It can only move this amount to this
 * address.
 */
export async function printedTransfer({ records }: TransferRecords, { id, asset }: Transfer): Promise<PrintedTransfer> {
  const { signature, authorization } = EvmPayload.parse((await signedFor(records, id)).payload)
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
  return { token: asset, ...authorization, v: Number.parseInt(v, 16), r: `0x${r}`, s: `0x${s}` }
}

const refusal = (rule: Rule, sentence: string, nextStep = ''): WalletRefusal =>
  new WalletRefusal({ rule, sentence, nextStep })

import { paymentSignature } from '#contract/wire/headers.ts'
import type { PaymentPayload } from '#contract/wire/payment.ts'
import { evmEnd } from '../chains/evm.ts'
import { type ChainNodes, nodesInUse } from '../chains/nodes.ts'
import { type ChainEnd, solanaEnd } from '../chains/solana.ts'
import type { Records } from '../records/records.ts'
import {
  openTransfers,
  type Transfer,
  transferConfirmed,
  transferDead,
  transferOf,
  transferPayload,
} from '../records/transfer-rows.ts'
import { defaultRails, namespaceOf, type Policy } from '../rules/policy.ts'
import { WalletRefusal } from '../terms/refusal.ts'

export interface TransferRecords {
  records: Records
  /** The nodes that the owner has configured. */
  nodes: ChainNodes
  policy: Pick<Policy, 'origin'>
}

/** The nodes that may be asked about the owner's own money. */
export const nodesFor = ({ nodes, policy }: Pick<TransferRecords, 'nodes' | 'policy'>): ChainNodes =>
  nodesInUse(nodes, { origin: policy.origin, rails: defaultRails, tokenNames: [] })

/** Returns the signed bytes of a pending transfer. */
export async function signedFor(records: Records, id: string): Promise<PaymentPayload> {
  const payload = paymentSignature.parse(await records.read(() => transferPayload(id)))
  if (payload) return payload
  throw new TypeError('A stored transfer cannot be read.')
}

/**
 * Records the outcome of a transfer if the chain shows it, and returns the current state. Never rejects because of a
 * node.
 */
export async function followTransfer(
  context: TransferRecords,
  transfer: Transfer,
  reported: string | null = null,
): Promise<Transfer> {
  const { records } = context
  const end = await endOf(context, transfer)
  return records.decide(function* (nowMs) {
    const { state } = yield* transferOf(transfer.id)
    const isOpen = state !== 'confirmed' && state !== 'dead'
    if (isOpen && end?.kind === 'taken') yield* transferConfirmed(transfer.id, end.transaction ?? reported, nowMs)
    if (isOpen && end?.kind === 'never') yield* transferDead(transfer.id, 'expired without being settled', nowMs)
    return yield* transferOf(transfer.id)
  })
}

/** Looks for every signed transfer without an outcome on the chain; returns them in their current state. */
export async function followTransfers(context: TransferRecords, addresses: readonly string[]): Promise<Transfer[]> {
  const open = await context.records.read(() => openTransfers(addresses))
  return Promise.all(open.filter(isSigned).map(transfer => followTransfer(context, transfer)))
}

/** A transfer that is only planned has moved nothing. */
const isSigned = ({ state }: Transfer): boolean => state !== 'planned'

/** Null if no node answers. */
async function endOf(context: TransferRecords, transfer: Transfer): Promise<ChainEnd | null> {
  const nodes = nodesFor(context)
  if (namespaceOf(transfer.address) === 'eip155') {
    const { accepted } = await signedFor(context.records, transfer.id)
    const name = accepted.extra?.name
    return evmEnd(nodes, transfer, typeof name === 'string' ? name : null, { looksEarly: true })
  }
  return solanaEnd(nodes, transfer).catch(error => {
    if (error instanceof WalletRefusal) return null
    throw error
  })
}

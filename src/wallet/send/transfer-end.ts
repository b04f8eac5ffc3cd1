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
  /** As the owner has named them. */
  nodes: ChainNodes
  policy: Pick<Policy, 'origin'>
}

/** The nodes that may be asked about the owner's own money. */
export const nodesFor = ({ nodes, policy }: Pick<TransferRecords, 'nodes' | 'policy'>): ChainNodes =>
  nodesInUse(nodes, { origin: policy.origin, rails: defaultRails, tokenNames: [] })

/** What was signed for an open transfer. */
export async function signedFor(records: Records, id: string): Promise<PaymentPayload> {
  const payload = paymentSignature.parse(await records.read(() => transferPayload(id)))
  if (payload) return payload
  throw new TypeError('A stored transfer cannot be read.')
}

/** Writes down what the chain says of a transfer, where it has ended, and returns it as it is now. Never rejects for a node. */
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

/** Looks at the chain for every transfer that was signed and has no end yet; returns all of them, as they are now. */
export async function followTransfers(context: TransferRecords, addresses: readonly string[]): Promise<Transfer[]> {
  const open = await context.records.read(() => openTransfers(addresses))
  return Promise.all(open.filter(isSigned).map(transfer => followTransfer(context, transfer)))
}

/** Of a transfer that is only planned nothing has left. */
const isSigned = ({ state }: Transfer): boolean => state !== 'planned'

/** Null where no node tells. */
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

import { join } from 'node:path'
import { type Clock, systemClock } from '#contract/time.ts'
import type { ChainNodes } from '#wallet/chains/nodes.ts'
import type { WalletKey } from '#wallet/keys/keys.ts'
import { noteJournal } from '#wallet/records/journal-of-key.ts'
import { fileRecords } from '#wallet/records/open-records.ts'
import type { Records } from '#wallet/records/records.ts'
import { openState } from '#wallet/records/state.ts'
import { prepareTransfer, sendTransfer, type TransferContext } from '#wallet/send/send-money.ts'
import { facilitatorAt, type Settler } from '#wallet/send/settler.ts'
import { policy } from '../sample-wallet.ts'

interface Wallet {
  folder: string
  key: WalletKey
  nodes: ChainNodes
  wrap?: (records: Records) => Records
  changes?: Partial<TransferContext>
  clock?: Clock
}

/** The owner's side of a wallet of one key, which waits for nothing. */
export function owner({ folder, key, nodes, wrap = records => records, changes = {}, clock = systemClock }: Wallet) {
  const records = wrap(fileRecords(openState(folder), clock))
  const context: TransferContext = {
    records,
    folder,
    policy: policy({ payees: [] }),
    addresses: [key.address],
    nodes,
    noteJournal: () => noteJournal(join(folder, 'notes'), key.address, records),
    pause: () => new Promise(resolve => setImmediate(resolve)),
    ...changes,
  }
  return {
    context,
    records,
    prepare: (to: string, amount: string) => prepareTransfer(context, { to, amount }),
    /** As the command does it, without its questions. */
    async send(to: string, amount: string, through: string | Settler | null) {
      const prepared = await prepareTransfer(context, { to, amount })
      if (prepared.kind === 'arrived') return { ...prepared.transfer, kind: 'arrived' as const }
      const settler = typeof through === 'string' ? facilitatorAt(through) : through
      const kind = prepared.earlierId === null ? ('new' as const) : ('repeated' as const)
      return { ...(await sendTransfer(context, prepared, { key, settler, by: 'ada' })), kind }
    },
    close: () => records.close(),
  }
}

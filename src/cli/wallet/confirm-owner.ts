import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import type { CommandIo } from '../command.ts'
import { askHidden } from './terminal.ts'

/**
 * A program can open a terminal of its own, but does not know the passphrase. Where no encrypted wallet has used the
 * journal, there is none to ask for: whoever holds such a wallet's key in plain can spend it anyway.
 */
export async function confirmOwner(io: CommandIo, desk: OwnerDesk): Promise<void> {
  if (await desk.isGuarded()) await desk.proveOwner(await askHidden(io, 'Passphrase of the wallet (it is not shown):'))
}

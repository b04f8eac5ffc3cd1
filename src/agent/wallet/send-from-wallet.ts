import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '#contract/time.ts'
import { defaultNotesFolder, noteJournal } from '#wallet/records/journal-of-key.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import { listTransfers, type Transfer } from '#wallet/records/transfer-rows.ts'
import { sameAddress } from '#wallet/rules/policy.ts'
import { tightenByFile } from '#wallet/rules/settings-file.ts'
import {
  type ArrivedTransfer,
  type PreparedTransfer,
  type PrintedTransfer,
  prepareTransfer,
  printedTransfer,
  sendTransfer,
  type TransferContext,
} from '#wallet/send/send-money.ts'
import { facilitatorAt, type Settler } from '#wallet/send/settler.ts'
import { followTransfers } from '#wallet/send/transfer-end.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { type AgentEnvironment, journalUrlOf, nodesOf, payeesNamed, policyOf } from '../settings/wallet-settings.ts'
import { openAgentState } from '../state/schema.ts'
import type { OwnerWallet } from './owner-wallet.ts'
import { knownAddresses } from './wallet-keys.ts'

/**
 * Sends money back to the owner, from a terminal or from a page that asks for the passphrase. A test keeps this file
 * out of everything that a model can call.
 */
export interface OwnerSends {
  /**
   * Returns the transfer after all checks: `to` is an address, `amount` is USD as decimal text or `all`. Signs nothing.
   */
  prepare(order: { to: string; amount: string }): Promise<PreparedTransfer | ArrivedTransfer>
  send(prepared: PreparedTransfer, confirmed: ConfirmedSend): Promise<Transfer>
  /** The pending transfer on an EVM chain as another wallet can submit it. */
  printed(transfer: Transfer): Promise<PrintedTransfer>
  /** Checks the chain for transfers whose outcome is unknown; returns their current state, oldest first. */
  followOpen(): Promise<readonly Transfer[]>
  /** Newest first. */
  list(limit: number): Promise<readonly Transfer[]>
  close(): Promise<void>
}

export interface ConfirmedSend {
  /** Checked here if the wallet is encrypted; null if it is not. */
  passphrase: string | null
  /** Null for a transfer that the user submits. */
  settler: Settler | null
  /** Who confirmed it, for the journal. */
  by: string
}

/** An x402 facilitator by its address, or a public one. Throws the wallet's refusal. */
export const remoteSettler = (url: string | undefined): Settler => facilitatorAt(url)

type Owner = Pick<OwnerWallet, 'folder' | 'isGuarded' | 'proveOwner' | 'openKeys'>

export function openOwnerSends(owner: Owner, env: AgentEnvironment): OwnerSends {
  const { folder } = owner
  const records = openRecords(openAgentState(folder), systemClock, journalUrlOf(env))
  const context = async (): Promise<TransferContext> => {
    const addresses = await knownAddresses(folder, env)
    const payees = payeesNamed(env.FAREBOX_PAYEE)
    const policy = tightenByFile(policyOf(env, { payees }), folder)
    const noteAll = async () => {
      for (const address of addresses) await noteJournal(defaultNotesFolder(), address, records)
    }
    return { records, folder, policy, addresses, nodes: nodesOf(env), noteJournal: noteAll, pause: delay }
  }
  return {
    prepare: async order => prepareTransfer(await context(), order),
    async send(prepared, { passphrase, settler, by }) {
      if (await owner.isGuarded()) await owner.proveOwner(passphrase ?? noPassphrase())
      const key = (await owner.openKeys(passphrase)).find(({ address }) => sameAddress(address, prepared.from))
      if (!key) throw notHere(prepared.from)
      return sendTransfer(await context(), prepared, { key, settler, by })
    },
    printed: async transfer => printedTransfer(await context(), transfer),
    async followOpen() {
      const { addresses, ...rest } = await context()
      return addresses.length === 0 ? [] : followTransfers(rest, addresses)
    },
    list: limit => records.read(() => listTransfers(limit)),
    close: () => records.close(),
  }
}

function noPassphrase(): never {
  throw new WalletRefusal({
    rule: 'key',
    sentence: 'Sending money needs the passphrase of the wallet.',
    nextStep: 'Nothing was signed; enter the passphrase and try again.',
  })
}

const notHere = (address: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'key',
    sentence: `The key of ${address} is no longer in this wallet.`,
    nextStep: 'Nothing was signed; check FAREBOX_WALLET_KEY, FAREBOX_SOLANA_KEY and the data folder.',
  })

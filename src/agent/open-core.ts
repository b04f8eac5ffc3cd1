import { resolve } from 'node:path'
import { Client } from '#client/client.ts'
import type { Credential } from '#client/credential.ts'
import { waitFor } from '#client/retry/wait-budget.ts'
import { serviceAddress } from '#client/service-address.ts'
import { TopUpClient } from '#client/top-up.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { openApprovals } from '#wallet/approvals/approvals.ts'
import { keyFromHex, type WalletKey } from '#wallet/keys/keys.ts'
import { solanaKeyFrom } from '#wallet/keys/solana-key.ts'
import { defaultStateFolder } from '#wallet/private-file.ts'
import { ownedRecords } from '#wallet/records/journal-owner.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import { openState, type State } from '#wallet/records/state.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { tightenByFile } from '#wallet/rules/settings-file.ts'
import { openWallet } from '#wallet/wallet.ts'
import type { Core } from './core.ts'
import type { CoreOptions } from './core-options.ts'
import { Files } from './media/files.ts'
import { Previews } from './media/previews.ts'
import { sweepParts } from './media/sweep-parts.ts'
import { machineNotes } from './state/machine-notes.ts'
import { Refills } from './wallet/refills.ts'

/** What lies in the state folder beside what was given. */
export interface FoundWallet {
  /** One a rail, Base first. */
  keys?: readonly WalletKey[]
  /** Address of an encrypted key that nobody has opened. */
  lockedWallet?: string | null
  lockedBecause?: Core['lockedBecause']
  /** False where nobody has said which service to use, so that the usual one is taken. */
  isServiceNamed?: boolean
  /** Installed by a desktop assistant, which asks for the settings and keeps its secrets. */
  isBundle?: boolean
}

/** Puts an agent together. Nothing is sent; the state file is opened by its first use. */
export async function openCore(options: CoreOptions, found: FoundWallet = {}): Promise<Core> {
  const { clock = systemClock, apiKey, walletKey } = options
  const { baseUrl } = serviceAddress(options.baseUrl)
  const state = openState(resolve(options.stateFolder ?? defaultStateFolder()))
  const policy = options.policy ?? readPolicy({ serviceUrl: baseUrl })
  const given = [
    ...(walletKey ? [await keyFromHex(walletKey)] : []),
    ...(options.solanaKey ? [solanaKeyFrom(options.solanaKey)] : []),
  ]
  const [key, ...otherKeys] = given.length > 0 ? given : (found.keys ?? [])
  const records = ownedRecords(openRecords(state, clock, options.journalUrl), state.folder)
  const wallet = key
    ? openWallet({
        key,
        otherKeys,
        nodes: options.nodes ?? {},
        policy,
        state,
        records,
        clock,
        notesFolder: options.notesFolder,
      })
    : null
  const credential: Credential = wallet ? { payer: wallet } : apiKey ? { apiKey } : null
  const notes = machineNotes(state, clock)
  const client = new Client({ baseUrl, credential, clock, notes, vendor: options.vendor, fetch: options.fetch })
  const topUps = new TopUpClient(client)
  const files = filesOf(options, state, clock)
  return {
    client,
    topUps,
    refills: new Refills({ client, topUps, wallet, clock }),
    wallet,
    isServiceNamed: found.isServiceNamed ?? true,
    isBundle: found.isBundle ?? false,
    lockedWallet: found.lockedWallet ?? null,
    lockedBecause: found.lockedBecause ?? null,
    nodes: options.nodes ?? {},
    pays: wallet ? 'wallet' : apiKey ? 'apiKey' : 'nothing',
    policy: wallet?.policy ?? tightenByFile(policy, state.folder),
    state,
    records,
    approvals: wallet?.approvals ?? openApprovals(records, state.folder),
    files,
    previews: new Previews(files),
    clock,
    pause: options.pause ?? waitFor,
  }
}

function filesOf(
  { outputFolder, inputFolders = [], secretFiles = [] }: CoreOptions,
  state: State,
  clock: Clock,
): Files {
  const folders = {
    output: resolve(outputFolder ?? `${state.folder}/output`),
    inputs: inputFolders.map(folder => resolve(folder)),
    state: state.folder,
    secrets: secretFiles,
  }
  return new Files(folders, folder => sweepParts(folder, state, clock.now()))
}

import { resolve } from 'node:path'
import { Client } from '#client/client.ts'
import type { Credential } from '#client/credential.ts'
import { waitFor } from '#client/retry/wait-budget.ts'
import { serviceAddress } from '#client/service-address.ts'
import { TopUpClient } from '#client/top-up.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { openApprovals } from '#wallet/approvals/approvals.ts'
import { keyFileAddresses } from '#wallet/keys/key-file.ts'
import { keyFromHex, type WalletKey } from '#wallet/keys/keys.ts'
import { solanaKeyFrom } from '#wallet/keys/solana-key.ts'
import { defaultStateFolder } from '#wallet/private-file.ts'
import { ownedRecords } from '#wallet/records/journal-owner.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import { openState, type State } from '#wallet/records/state.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { tightenByFile } from '#wallet/rules/settings-file.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { openWallet } from '#wallet/wallet.ts'
import { AgentDesks } from './agent-desks.ts'
import type { Core } from './core.ts'
import { Files } from './media/files.ts'
import { Previews } from './media/previews.ts'
import { sweepParts } from './media/saved-files.ts'
import type { CoreOptions } from './settings/agent-options.ts'
import type { AgentSettings } from './settings/settings.ts'
import {
  baseUrlOf,
  isServiceNamed,
  journalUrlOf,
  nodesOf,
  payeesNamed,
  policyOf,
  stateFolderOf,
} from './settings/wallet-settings.ts'
import { machineNotes } from './state/machine-notes.ts'
import { Refills } from './wallet/refills.ts'
import { environmentKeys, folderKeys } from './wallet/wallet-keys.ts'
import { ofWallet } from './words/explain.ts'
import { typedWords, type WalletPlace } from './words/typed-commands.ts'

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

/**
 * An agent from an environment's settings; the passphrase opens an encrypted wallet, where there is one. A wallet that it
 * does not open is refused, or with `mayStayLocked` told by whatever needs it: what is free needs no wallet.
 */
export async function createDesks(
  settings: AgentSettings,
  passphrase: string | null,
  { mayStayLocked = false } = {},
): Promise<AgentDesks> {
  const { env, apiKey, vendor, outputFolder } = settings
  const [baseUrl, stateFolder] = [baseUrlOf(env), stateFolderOf(env)]
  const policy = policyOf(env, { payees: payeesNamed(settings.payee) })
  const finding = findWallet(settings, passphrase)
  const place = { folder: stateFolder, isJournalShared: journalUrlOf(env) !== undefined }
  const found = await inOurWords(place, mayStayLocked ? finding.catch(error => locked(stateFolder, error)) : finding)
  const core = await openCore(
    {
      ...{
        baseUrl,
        apiKey,
        nodes: nodesOf(env),
        vendor,
        outputFolder,
        stateFolder,
        journalUrl: journalUrlOf(env),
        policy,
      },
      secretFiles: filesNamed(env),
    },
    { ...found, isServiceNamed: isServiceNamed(env), isBundle: settings.bundle !== undefined },
  )
  return new AgentDesks(core)
}

/** Keys of the environment win over an API key, and that one over the keys of the folder. */
async function findWallet({ env, apiKey }: AgentSettings, passphrase: string | null): Promise<FoundWallet> {
  const keys = await environmentKeys(env)
  if (keys.length > 0 || apiKey) return { keys }
  return folderKeys(stateFolderOf(env), baseUrlOf(env), passphrase)
}

/** Throws the error where it is not about an encrypted key. */
function locked(folder: string, error: unknown): FoundWallet {
  const [address] = keyFileAddresses(folder) ?? []
  if (!(error instanceof WalletRefusal) || error.rule !== 'key' || address === undefined) throw error
  return { lockedWallet: address, lockedBecause: error }
}

const inOurWords = <Value>(place: WalletPlace, work: Promise<Value>): Promise<Value> =>
  work.catch(error => {
    throw error instanceof WalletRefusal ? typedWords(ofWallet(error), place) : error
  })

/** Variables whose names end with `_FILE` name files that hold secrets, of other programs of this environment too. */
const filesNamed = (env: AgentSettings['env']): string[] =>
  Object.entries(env).flatMap(([name, value]) => (/_FILE$/.test(name) && value ? [value] : []))

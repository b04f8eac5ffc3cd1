import { resolve } from 'node:path'
import { Client } from '#client/client.ts'
import type { Credential } from '#client/credential.ts'
import { waitFor } from '#client/retry/retry.ts'
import { TopUpClient } from '#client/top-up.ts'
import { serviceAddress } from '#client/wire/wire.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { openApprovals } from '#wallet/approvals/approvals.ts'
import { keyFileAddresses } from '#wallet/keys/key-file.ts'
import { keyFromHex, solanaKeyFrom, type WalletKey } from '#wallet/keys/keys.ts'
import { homeDataFolder } from '#wallet/private-file.ts'
import { ownedRecords } from '#wallet/records/journal-of-key.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import type { State } from '#wallet/records/state.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { tightenByFile } from '#wallet/rules/settings-file.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { openWallet } from '#wallet/wallet.ts'
import { closingMs } from './bounds.ts'
import { PaidCalls } from './calls/paid-call.ts'
import { PaidCallRows } from './calls/paid-call-rows.ts'
import type { AgentContext } from './context.ts'
import { CallJobs } from './jobs/call-jobs.ts'
import { FollowedJobs, resumeJobs } from './jobs/followed-jobs.ts'
import { JobRows } from './jobs/job-rows.ts'
import { Files } from './media/files.ts'
import { Previews } from './media/previews.ts'
import { SavedFiles, sweepParts } from './media/saved-files.ts'
import { ModelRecords } from './prices/model-records.ts'
import { Receipts } from './receipts/receipts.ts'
import type { OpenOptions } from './settings/agent-options.ts'
import type { AgentSettings } from './settings/settings.ts'
import {
  baseUrlOf,
  dataFolderOf,
  isServiceNamed,
  journalUrlOf,
  nodesOf,
  payeesNamed,
  policyOf,
} from './settings/wallet-settings.ts'
import { machineNotes } from './state/machine-notes.ts'
import { openAgentState } from './state/schema.ts'
import { Limits } from './wallet/limits-view.ts'
import { Refills } from './wallet/refills.ts'
import { ToolWallet } from './wallet/tool-wallet.ts'
import { environmentKeys, folderKeys } from './wallet/wallet-keys.ts'
import { ofWallet } from './words/explain.ts'
import { typedWords, type WalletPlace } from './words/typed-commands.ts'

/** The wallet that was found in the data folder, in addition to the given options. */
export interface FoundWallet {
  /** One per rail, Base first. */
  keys?: readonly WalletKey[]
  /** Address of an encrypted key that has not been opened. */
  lockedWallet?: string | null
  lockedBecause?: AgentContext['lockedBecause']
  /** False if no setting names the service, so that the default is used. */
  isServiceNamed?: boolean
  /** Installed by a desktop assistant, which asks for the settings and keeps its secrets. */
  isBundle?: boolean
}

export type OpenAgent = Awaited<ReturnType<typeof openAgent>>

/** Assembles an agent. Nothing is sent; the state file is opened on first use. */
export async function openAgent(options: OpenOptions, found: FoundWallet = {}) {
  const context = await openContext(options, found)
  const { client, state, clock } = context
  const files = filesOf(options, state, clock)
  const shared = {
    ...context,
    files,
    previews: new Previews(files),
    savedFiles: new SavedFiles(state, clock),
    refills: new Refills(context),
    models: new ModelRecords(client),
    rows: new PaidCallRows(state, clock),
    jobRows: new JobRows(state, clock),
    limits: new Limits(context),
    receipts: new Receipts(context),
  }
  const paidCalls = new PaidCalls(shared)
  const jobs = { ...shared, paidCalls, callJobs: new CallJobs({ ...shared, paidCalls }) }
  return {
    ...jobs,
    resumed: resumeJobs(jobs),
    followed: new FollowedJobs(jobs),
    toolWallet: new ToolWallet(context, shared.receipts),
  }
}

async function openContext(options: OpenOptions, found: FoundWallet): Promise<AgentContext> {
  const { clock = systemClock, apiKey, walletKey } = options
  const { baseUrl } = serviceAddress(options.baseUrl)
  const state = openAgentState(resolve(options.dataFolder ?? homeDataFolder()))
  const policy = options.policy ?? readPolicy({ serviceUrl: baseUrl })
  const given = [
    ...(walletKey ? [await keyFromHex(walletKey)] : []),
    ...(options.solanaKey ? [solanaKeyFrom(options.solanaKey)] : []),
  ]
  const [key, ...otherKeys] = given.length > 0 ? given : (found.keys ?? [])
  const records = ownedRecords(openRecords(state, clock, options.journalUrl), state.folder)
  const nodes = options.nodes ?? {}
  const { notesFolder, vendor } = options
  const wallet = key ? openWallet({ key, otherKeys, nodes, policy, state, records, clock, notesFolder }) : null
  const credential: Credential = wallet ? { payer: wallet } : apiKey ? { apiKey } : null
  const notes = machineNotes(state, clock)
  const client = new Client({ baseUrl, credential, clock, notes, vendor, fetch: options.fetch })
  return {
    client,
    topUps: new TopUpClient(client),
    wallet,
    isServiceNamed: found.isServiceNamed ?? true,
    isBundle: found.isBundle ?? false,
    lockedWallet: found.lockedWallet ?? null,
    lockedBecause: found.lockedBecause ?? null,
    nodes,
    pays: wallet ? 'wallet' : apiKey ? 'apiKey' : 'nothing',
    policy: wallet?.policy ?? tightenByFile(policy, state.folder),
    state,
    records,
    approvals: wallet?.approvals ?? openApprovals(records, state.folder),
    clock,
    pause: options.pause ?? waitFor,
  }
}

/**
 * Waits briefly for paid calls to end, so that their answers are kept. A call that is still open then stays in its row
 * and is not retried: a retry that is cut off when the process exits would record less than is known now.
 */
export async function closeAgent(agent: OpenAgent): Promise<void> {
  const { client, state, records, pause, paidCalls, refills } = agent
  agent.resumed.stop()
  agent.followed.stop()
  const waiting = new AbortController()
  const settled = paidCalls.settled().then(() => refills.settled())
  await Promise.race([settled, pause(closingMs, waiting.signal)])
  waiting.abort()
  await paidCalls.giveUp()
  await client.close()
  await records.close()
  state.close()
}

function filesOf(
  { outputFolder, inputFolders = [], secretFiles = [] }: OpenOptions,
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
 * Opens an agent from an environment's settings; the passphrase opens an encrypted wallet, if there is one. Throws if
 * it does not open the wallet. With `mayStayLocked`, only what needs the wallet reports that, because free calls need
 * no wallet.
 */
export async function agentFromSettings(
  settings: AgentSettings,
  passphrase: string | null,
  { mayStayLocked = false } = {},
): Promise<OpenAgent> {
  const { env, apiKey, vendor, outputFolder } = settings
  const [baseUrl, dataFolder] = [baseUrlOf(env), dataFolderOf(env)]
  const policy = policyOf(env, { payees: payeesNamed(settings.payee) })
  const finding = findWallet(settings, passphrase)
  const place = { folder: dataFolder, isJournalShared: journalUrlOf(env) !== undefined }
  const found = await inOurWords(place, mayStayLocked ? finding.catch(error => locked(dataFolder, error)) : finding)
  return openAgent(
    {
      ...{
        baseUrl,
        apiKey,
        nodes: nodesOf(env),
        vendor,
        outputFolder,
        dataFolder,
        journalUrl: journalUrlOf(env),
        policy,
      },
      secretFiles: filesNamed(env),
    },
    { ...found, isServiceNamed: isServiceNamed(env), isBundle: settings.bundle !== undefined },
  )
}

/** Keys in the environment take precedence over an API key, and the API key over the keys in the folder. */
async function findWallet({ env, apiKey }: AgentSettings, passphrase: string | null): Promise<FoundWallet> {
  const keys = await environmentKeys(env)
  if (keys.length > 0 || apiKey) return { keys }
  return folderKeys(dataFolderOf(env), baseUrlOf(env), passphrase)
}

/** Throws the error if it is not about an encrypted key. */
function locked(folder: string, error: unknown): FoundWallet {
  const [address] = keyFileAddresses(folder) ?? []
  if (!(error instanceof WalletRefusal) || error.rule !== 'key' || address === undefined) throw error
  return { lockedWallet: address, lockedBecause: error }
}

const inOurWords = <Value>(place: WalletPlace, work: Promise<Value>): Promise<Value> =>
  work.catch(error => {
    throw error instanceof WalletRefusal ? typedWords(ofWallet(error), place) : error
  })

/** Variables whose names end with `_FILE` name files with secrets, also those of other programs in this environment. */
const filesNamed = (env: AgentSettings['env']): string[] =>
  Object.entries(env).flatMap(([name, value]) => (/_FILE$/.test(name) && value ? [value] : []))

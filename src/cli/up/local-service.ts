import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { LocalPlace } from '#engines/openai/find-local-servers.ts'
import { makeFolder } from '#host/files.ts'
import type { Log } from '#host/log.ts'
import type { LocalEvmChain } from '#local/evm/chain.ts'
import type { LocalKeys } from '#local/keys.ts'
import type { SolanaPaymentSettings } from '#service/index.ts'
import type { Model } from '#service/models/model.ts'
import type { ServiceOptions } from '#service/running/open-service.ts'
import { listenFailure } from '../command.ts'
import { type DataFolder, removeFile, writePrivateFile } from '../data/data-folder.ts'
import { readFolderSecrets, secretsToStart } from '../data/folder-secrets.ts'
import { folderInUse, isWrongSecret, openWhenFree, runningService, warmSoon } from '../data/service-admin.ts'
import { listenForOperators } from '../serve/operators-listener.ts'

export interface LocalServiceOptions {
  folder: DataFolder
  host: string
  /** 0 lets the system choose. */
  port: number
  /** The local token's EIP-712 name, if it is not the default one. */
  tokenName?: string
  /** Where the ledger is, if not in the folder. */
  database?: string
  /** May contain FAREBOX_SECRET, the service's secret if it is not the folder's. */
  env?: Readonly<Record<string, string | undefined>>
  /** Whether models of servers on this machine are sold in addition to the demonstrations. */
  findsModels?: boolean
  /** Aborts when everything should stop, if it can be stopped. */
  stopped?: AbortSignal
  log: Log
}

/** A service, its local chain and a wallet with test money, all in one data folder. */
export interface LocalService {
  publicUrl: string
  baseUrl: string
  evmRpcUrl: string
  /** The Solana chain, or why there is none. */
  solana: { rpcUrl: string } | { rpcUrl: null; problem: string }
  payee: string
  models: readonly { id: string; type: string }[]
  wallet: { address: string; privateKey: string }
  close(): Promise<void>
}

/** How long answers in flight may take when the service stops. */
const stopGraceMs = 5_000

const adminTokenBytes = 32

/** The local EVM chain's name in the path of its node. */
const localNetwork = 'local-evm'

/** Starts everything; if a later part fails, what was started is stopped again. */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const stops: Stops = []
  const stop = () => stopAll(stops.splice(0).reverse())
  try {
    return { ...(await start(options, stops)), close: stop }
  } catch (error) {
    await stop().catch(() => undefined)
    throw error
  }
}

/** Each is stopped whatever happens to the others: no chain and no locked folder must be left behind. */
async function stopAll(stops: Readonly<Stops>): Promise<void> {
  const failures: unknown[] = []
  for (const stop of stops) await stop().catch(error => failures.push(error))
  if (failures.length) throw failures[0]
}

async function start(options: LocalServiceOptions, stops: Stops): Promise<Omit<LocalService, 'close'>> {
  const { folder, host, tokenName, database, log } = options
  const parts = await loadParts()
  const listener = await openListener(parts, options)
  stops.push(() => listener.close(stopGraceMs))
  // Created only now, so that a start whose address is taken leaves no folder behind.
  await makeFolder(folder.root)
  // In parallel, so that nothing waits for it.
  const local = options.findsModels ? localModels({ folder: folder.engines, log }) : []
  const { chain, keys, solana } = await startLocalChains({ dataDir: folder.root, tokenName, stops })
  const publicUrl = `http://${publicHost(host)}:${listener.port}`
  const video = demoVideo(parts, options)
  stops.push(() => video.close())
  const adminToken = randomBytes(adminTokenBytes).toString('base64url')
  const isNew = !options.env?.FAREBOX_SECRET && (await readFolderSecrets(folder)) === null
  const music = new parts.DemoMusic({ workFolder: folder.engines })
  const models = withLocalModels(parts.demoModels({ chat: new parts.DemoChat(), video, music }), await local)
  const web = new parts.DemoWeb()
  const node = new parts.JsonRpcNode({ urls: [chain.rpcUrl] })
  stops.push(() => node.close())
  const serviceOptions: ServiceOptions = {
    publicUrl,
    folder: dirname(folder.database),
    ...(database === undefined ? {} : { database }),
    secrets: await secretsToStart(folder, options.env ?? {}),
    models,
    payments: {
      options: [optionOf(chain, keys.payee.address)],
      rpcUrl: chain.rpcUrl,
      // The local chain makes a block for each transaction and drops none.
      confirmations: 0,
      facilitatorKey: keys.facilitator.privateKey,
      ...(solana.settings ? { solana: solana.settings } : {}),
    },
    staking: { rpcUrl: chain.rpcUrl, ...chain.stakes },
    // Nothing leaves this machine: no search engine is queried, and no page fetched.
    search: web,
    pages: web,
    transcriber: new parts.AudioTranscriber({ engine: new parts.DemoTranscription(), engineModel: 'demo' }),
    networks: [{ slug: localNetwork, node }],
    characters: parts.demoCharacters,
    adminToken,
    log,
  }
  const open = () =>
    parts.openService(serviceOptions).catch(async error => {
      // A new secret would only be in the way of a ledger that expects another.
      if (isNew && isWrongSecret(error)) await removeFile(folder.secret)
      throw error
    })
  const service = await openWhenFree(folder, open)
  stops.push(() => service.close())
  listener.serve(service.fetch)
  stops.push(await listenForOperators({}, service, log))
  // Registered twice, so that this also runs before the service closes: a closing service must get no request.
  stops.push(() => listener.close(stopGraceMs))
  await writePrivateFile(folder.admin, JSON.stringify({ url: publicUrl, token: adminToken, pid: process.pid }))
  stops.push(() => removeFile(folder.admin))
  stops.push(warmSoon(service, log))
  const { payee, wallet } = keys
  return {
    publicUrl,
    baseUrl: `${publicUrl}${parts.basePath}`,
    evmRpcUrl: chain.rpcUrl,
    solana: solana.settings ? { rpcUrl: solana.settings.rpcUrl } : { rpcUrl: null, problem: solana.problem },
    payee: payee.address,
    models,
    wallet,
  }
}

const demoVideo = ({ DemoVideo }: Parts, { folder, stopped, log }: LocalServiceOptions) =>
  new DemoVideo({
    workFolder: folder.engines,
    // Ctrl-C also ends the encoder, which is then not at fault.
    onComplaint: (jobId, complaint) => {
      if (!stopped?.aborted) log.warn({ jobId, complaint }, 'The video encoder failed.')
    },
  })

/** A service that listens on every address uses one of them as its name, because a wallet's sign-in must name it. */
function publicHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** Loads the service and the chain only when `up` needs them. */
async function loadParts() {
  const [service, settings, listener, chat, video, music, web, hearing, transcriber, node, models, characters] =
    await Promise.all([
      import('#service/running/open-service.ts'),
      import('#contract/wire/base-url.ts'),
      import('#service/http/listener.ts'),
      import('#engines/demo/chat.ts'),
      import('#engines/demo/video.ts'),
      import('#engines/demo/audio.ts'),
      import('#engines/demo/web.ts'),
      import('#engines/demo/audio.ts'),
      import('#engines/local/transcription.ts'),
      import('#engines/chain/json-rpc-node.ts'),
      import('#service/models/demo-models.ts'),
      import('#service/capabilities/characters/characters.ts'),
    ])
  const engines = { ...chat, ...video, ...music, ...web, ...hearing, ...transcriber, ...node }
  return { ...service, ...settings, ...listener, ...engines, ...models, ...characters }
}

type Parts = Awaited<ReturnType<typeof loadParts>>

async function openListener(parts: Parts, { host, port, folder }: LocalServiceOptions) {
  try {
    return await parts.Listener.open({ host, port })
  } catch (error) {
    const running = await runningService(folder)
    // Another port would not help, because the folder is taken too.
    const isSame = running && new URL(running.url).port === String(port)
    if (isSame && (error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw folderInUse(folder, running)
    throw listenFailure(error, { host, port })
  }
}

const optionOf = (chain: LocalEvmChain, payTo: string): PaymentOption => ({
  scheme: 'exact',
  network: `eip155:${chain.chainId}`,
  amount: '5000000',
  asset: chain.tokenAddress,
  payTo,
  maxTimeoutSeconds: 300,
  extra: { name: chain.tokenName, version: chain.tokenVersion },
})

/**
 * Returns chat models of servers on this machine, ready to be sold; none if anything fails, because trying farebox must
 * not fail on them.
 */
export async function localModels(
  { folder, log }: { folder: string; log: Log },
  ...where: [places?: readonly LocalPlace[], timeoutMs?: number]
): Promise<Model[]> {
  try {
    const { findLocalServers } = await import('#engines/openai/find-local-servers.ts')
    const servers = await findLocalServers(...where)
    if (!servers.length) return []
    const [{ foundModels, localModelConfigs }, { openModel }] = await Promise.all([
      import('#service/config/local-models.ts'),
      import('#service/config/open-models.ts'),
    ])
    const around = { folder, log, keep: <Engine>(_: string, make: () => Engine) => make() }
    return localModelConfigs(foundModels(servers)).map(config => openModel(config, around))
  } catch (error) {
    log.warn({ err: error }, 'The search for model servers on this machine failed.')
    return []
  }
}

/** Adds those of the others whose id is still free. */
export const withLocalModels = (models: readonly Model[], local: readonly Model[]): Model[] => {
  const taken = new Set(models.map(({ id }) => id))
  return [...models, ...local.filter(({ id }) => !taken.has(id))]
}

/** Functions that stop what has been started. */
type Stops = (() => Promise<unknown>)[]

interface LocalChains {
  chain: LocalEvmChain
  keys: LocalKeys
  solana: StartedSolana
}

/** The second rail, or why there is none. */
type StartedSolana = { settings: SolanaPaymentSettings } | { settings: null; problem: string }

interface Start {
  dataDir: string
  tokenName: string | undefined
  stops: Stops
}

/** The deposit for an empty wallet: enough for several demonstrations within the default caps. */
const walletMicroUsd = 50_000_000n

/**
 * Starts the chains of both rails with their test money in parallel. `stops` receives what was started, even if a part
 * fails.
 */
async function startLocalChains(start: Start): Promise<LocalChains> {
  const [evm, solana] = [startEvm(start), startSolana(start)]
  // Waits for both, so that no chain is left without being stopped.
  await Promise.allSettled([evm, solana])
  return { ...(await evm), solana: await solana }
}

async function startEvm({ dataDir, tokenName, stops }: Start): Promise<{ chain: LocalEvmChain; keys: LocalKeys }> {
  const [{ startLocalEvmChain }, { loadLocalKeys }] = await Promise.all([
    import('#local/evm/chain.ts'),
    import('#local/keys.ts'),
  ])
  const chain = await startLocalEvmChain({ dataDir, ...(tokenName === undefined ? {} : { tokenName }) })
  stops.push(() => chain.stop())
  const keys = await loadLocalKeys(dataDir)
  await chain.fundEth(keys.facilitator.address)
  if ((await chain.balanceOf(keys.wallet.address)) === 0n) await chain.mintUsdc(keys.wallet.address, walletMicroUsd)
  return { chain, keys }
}

async function startSolana({ dataDir, stops }: Start): Promise<StartedSolana> {
  const [{ solanaProblem, startLocalSolanaChain }, { loadLocalSolanaKeys }] = await Promise.all([
    import('#local/solana/chain.ts'),
    import('#local/keys.ts'),
  ])
  const problem = solanaProblem()
  if (problem) return { settings: null, problem }
  const chain = await startLocalSolanaChain({ dataDir })
  stops.push(() => chain.stop())
  const { payee, feePayer, wallet } = await loadLocalSolanaKeys(dataDir)
  await chain.fundSol(feePayer.address)
  await chain.openAccount(payee.address)
  if ((await chain.balanceOf(wallet.address)) === 0n) await chain.mintUsdc(wallet.address, walletMicroUsd)
  const { rpcUrl } = chain
  // A block of the local chain is final when it is made.
  return { settings: { payTo: payee.address, rpcUrl, commitment: 'finalized', feePayerKey: feePayer.secretKey } }
}

import { randomBytes } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { oneAtATime } from '#host/async.ts'
import { makeFolder } from '#host/files.ts'
import type { Log } from '#host/log.ts'
import type { SettingsFile } from '#operator/console/settings-file.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import type { BesideModels } from '#service/config/open-beside-models.ts'
import type { Config } from '#service/config/read-config.ts'
import type { OpenService } from '#service/running/open-service.ts'
import { listenFailure } from '../command.ts'
import { type DataFolder, dataFolder, removeFile, writePrivateFile } from '../data/data-folder.ts'
import { secretsToStart } from '../data/folder-secrets.ts'
import { ledgerPlaceOf, noteLedgerPlace, requireNoLedgerHere } from '../data/ledger-place.ts'
import { folderWaitMs, openWhenFree, requireNoService, warmSoon } from '../data/service-admin.ts'
import { faultsOf, loadVersion } from './config.ts'
import { listenForOperators, loopbackOf } from './operators-listener.ts'
import { settingsFileOf, settingsThatWait } from './settings-file.ts'
import { Peers } from './worker-peers.ts'
import type { WorkerPart } from './workers.ts'

type Environment = Readonly<Record<string, string | undefined>>

interface ServingOptions {
  path: string
  config: Config
  /** Of the file. */
  version: string
  env: Environment
  log: Log
  /** Called with the values that must not be logged, again after each reload. */
  hide: (secrets: ReadonlySet<string>) => void
  /** Which of several worker processes this one is. */
  worker?: WorkerPart | null
}

/** A service that runs by its configuration. */
export interface Serving {
  baseUrl: string
  /** The address that it listens on, for operators' commands. */
  url: string
  models: number
  /**
   * Rereads models, their upstreams, limits and the system prompt from the file. An invalid one changes nothing, and is
   * logged.
   */
  reload(): Promise<void>
  /** Stops accepting requests, lets running ones end, and ends. */
  close(): Promise<void>
}

type Ends = (() => Promise<unknown>)[]

const adminTokenBytes = 32

/**
 * Under a load of many callers, V8 notices that the objects of requests live long, and from then on makes them where
 * only a full collection frees them. Each keeps the rest of its request alive, so every minor collection copies megabytes
 * of dead objects.
 */
const keepObjectsYoung = () =>
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-allocation-site-pretenuring')

/** Starts everything; if a later part fails, what was started is stopped again. */
export async function startServing(options: ServingOptions): Promise<Serving> {
  keepObjectsYoung()
  const ends: Ends = []
  const close = async () => {
    const failures: unknown[] = []
    for (const end of ends.splice(0).reverse()) await end().catch(error => failures.push(error))
    if (failures.length) throw failures[0]
  }
  try {
    return { ...(await start(options, ends)), close }
  } catch (error) {
    await close().catch(() => undefined)
    throw error
  }
}

async function start(options: ServingOptions, ends: Ends): Promise<Omit<Serving, 'close'>> {
  const { path, config, env, log, worker } = options
  const { file } = config
  const folder = dataFolder(resolve(dirname(path), file.data))
  const [{ openService }, { basePath }, { KeptEngines }] = await Promise.all([
    import('#service/running/open-service.ts'),
    import('#contract/wire/base-url.ts'),
    import('#service/config/define-kind.ts'),
  ])
  const kept = new KeptEngines()
  ends.push(() => kept.close())
  const around = {
    ...{ folder: folder.engines, log },
    keep: <Engine>(name: string, make: () => Engine) => kept.keep(name, make),
    drop: (name: string) => kept.drop(name),
  }
  const models = config.openModels(around)
  let sold = models
  ends.push(() => Promise.all(sold.map(model => model.close?.())))
  // Other workers answer until this one can; a single process answers that it is starting.
  const early = worker ? null : await listen(file)
  if (early) ends.push(() => early.close())
  await makeFolder(folder.root)
  const adminToken = worker?.adminToken ?? randomBytes(adminTokenBytes).toString('base64url')
  const { openBesideModels } = await import('#service/config/open-beside-models.ts')
  const beside = await openBesideModels(file, log)
  ends.push(() => beside.close())
  const peers = worker ? new Peers() : null
  ends.push(async () => peers?.close())
  const service = await open(openService, { path, config, folder, env, log, models, beside, adminToken, peers })
  ends.push(() => service.close())
  const listener = early ?? (await listen(file))
  listener.serve(service.fetch)
  // Registered a second time, so that this runs before the service closes: no request may arrive at a service that is
  // closing.
  ends.push(() => listener.close())
  const { reload, settingsFile } = reloadsOf({ ...options, peers }, service, around, next => {
    sold = next
  })
  peers?.does({ reload })
  await listenBeside(file, { service, worker, log, settingsFile }, ends)
  const url = `http://${loopbackOf(file.listen.host)}:${listener.port}`
  if (!worker) {
    await writePrivateFile(folder.admin, JSON.stringify({ url, token: adminToken, pid: process.pid }))
    ends.push(() => removeFile(folder.admin))
  }
  ends.push(warmSoon(service, log))
  return {
    url,
    baseUrl: `${file.publicUrl.replace(/\/+$/, '')}${basePath}`,
    models: models.length,
    async reload() {
      try {
        await reload()
      } catch (error) {
        const faults = faultsOf(error) ?? (error instanceof Error ? error.message : String(error))
        log.error({ faults }, 'The new configuration is invalid; the service keeps the old one.')
      }
    },
  }
}

/**
 * Loads the file again, after SIGHUP or a change in the console. `onSold` gets the models that are on sale from then
 * on.
 */
function reloadsOf(
  { path, config: { file }, version, env, log, hide, peers }: ServingOptions & { peers: Peers | null },
  service: OpenService,
  around: Parameters<Config['openModels']>[0],
  onSold: (models: ReturnType<Config['openModels']>) => void,
): { reload(): Promise<void>; settingsFile: SettingsFile } {
  let loaded = version
  const inTurn = oneAtATime()
  const load = async () => {
    const { config: next, version: read } = await loadVersion(path, env)
    hide(next.secrets)
    const { systemPrompt, plan, limits = {} } = next.file
    const others = next.openModels(around)
    try {
      service.reload({ models: others, systemPrompt, plan, limits })
    } catch (error) {
      await Promise.all(others.map(model => model.close?.()))
      throw error
    }
    onSold(others)
    loaded = read
    log.info({ models: next.file.models.length }, 'The configuration was reloaded.')
    const settings = settingsThatWait(file, next.file)
    if (settings.length) log.warn({ settings }, 'Some changed settings need a restart.')
  }
  // What was read first must not be applied last.
  const reload = () => inTurn(load)
  const reloadEverywhere = async () => {
    await reload()
    return (await peers?.reloadOthers()) ?? null
  }
  const served = { path, env, started: file, loaded: () => loaded, reload: reloadEverywhere }
  return { reload, settingsFile: settingsFileOf(served) }
}

interface Opening {
  /** The path of the configuration. */
  path: string
  config: Config
  folder: DataFolder
  env: Environment
  log: Log
  models: Parameters<OpenService['reload']>[0]['models']
  beside: BesideModels
  adminToken: string
  peers: Peers | null
}

async function open(
  openService: typeof import('#service/running/open-service.ts').openService,
  { path, config: { file }, folder, env, log, models, beside, adminToken, peers }: Opening,
): Promise<OpenService> {
  const database = file.database ?? env.DATABASE_URL
  const valkey = file.valkey ?? env.VALKEY_URL
  const ledger = await ledgerPlaceOf(folder.root, { ...env, DATABASE_URL: database })
  if (ledger.database.engine === 'postgres') await requireNoLedgerHere(folder)
  const { paymentSettings } = await import('#service/config/payment-config.ts')
  const { mediaOptions } = await import('#service/config/media-config.ts')
  const media = file.media && mediaOptions(file.media, folder => resolve(dirname(path), folder))
  const [first, ...former] = file.secrets ?? (await secretsToStart(folder, env))
  const opening = () =>
    openService({
      publicUrl: file.publicUrl,
      folder: dirname(folder.database),
      ...(database ? { database } : {}),
      ...(valkey ? { valkey } : {}),
      ...(media ? { media } : {}),
      secrets: [first, ...former],
      models,
      ...(file.payments ? { payments: paymentSettings(file.payments) } : {}),
      ...(file.staking ? { staking: file.staking } : {}),
      ...(file.vendor ? { vendor: file.vendor } : {}),
      systemPrompt: file.systemPrompt,
      ...beside.options,
      plan: file.plan,
      trustedProxies: file.trustedProxies,
      ...(file.limits ? { limits: file.limits } : {}),
      ...(file.metrics ? { metrics: metricsOf(file.metrics) } : {}),
      account: file.account,
      adminToken,
      // Through Valkey, each process already knows all blocks.
      ...(peers && !valkey ? { joinBlocks: own => peers.joinBlocks(own) } : {}),
      log,
    })
  const service = await openWhenFree(folder, opening, waitLogged(log))
  await noteLedgerPlace(folder, ledger.database)
  return service
}

/** Requests get a 503 during the wait, so the log says once what the start is waiting for. */
function waitLogged(log: Log): (folder: DataFolder) => Promise<void> {
  let isLogged = false
  return async folder => {
    await requireNoService(folder)
    if (isLogged) return
    isLogged = true
    const seconds = folderWaitMs / 1_000
    log.warn(
      { folder: folder.root },
      `Another farebox process uses the data folder; waiting up to ${seconds} s for it to end.`,
    )
  }
}

async function listen({ listen: at, trustedProxies, vendor }: ConfigFile) {
  const { answerStarting, connectionLimits, connectionLimitsBehindProxies, Listener } = await import(
    '#service/http/listener.ts'
  )
  const limits = trustedProxies.length ? connectionLimitsBehindProxies : connectionLimits
  try {
    return await Listener.open({ ...at, limits, starting: answerStarting({ vendor }) })
  } catch (error) {
    throw listenFailure(error, at, 'in `listen`')
  }
}

interface ListenedBeside extends Pick<ServingOptions, 'log' | 'worker'> {
  service: OpenService
  settingsFile: SettingsFile
}

/** Listens at the addresses for operators and for metrics, as configured. */
async function listenBeside(
  file: ConfigFile,
  { service, worker, log, settingsFile }: ListenedBeside,
  ends: Ends,
): Promise<void> {
  const { admin, metrics } = file
  if (admin) ends.push(await listenForOperators(admin, service, log, settingsFile))
  if (metrics?.listen) ends.push(await listenForFigures(metrics.listen, metrics.token, { service, worker }))
}

const metricsOf = ({ token, customers }: NonNullable<ConfigFile['metrics']>) => ({
  customers,
  ...(token ? { token } : {}),
})

/** Serves metrics at a separate address, where every other path is a 404. Resolves to a function that ends it. */
async function listenForFigures(
  { host, port }: { host: string; port: number },
  token: string | undefined,
  { service, worker }: { service: Pick<OpenService, 'figures'>; worker: WorkerPart | null | undefined },
): Promise<() => Promise<void>> {
  // Each worker has its own port, because the collector must know whose metrics they are.
  const at = { host, port: port + (worker ? worker.number - 1 : 0) }
  const [{ Listener }, { isSameSecret }] = await Promise.all([
    import('#service/http/listener.ts'),
    import('#host/signatures/signatures.ts'),
  ])
  const listener = await Listener.open(at).catch(error => {
    throw listenFailure(error, at, 'in `listen`')
  })
  listener.serve(async request => {
    if (new URL(request.url).pathname !== '/metrics') return new Response(null, { status: 404 })
    if (token !== undefined && !isSameSecret(request.headers.get('authorization') ?? '', `Bearer ${token}`)) {
      return new Response(null, { status: 401 })
    }
    const { contentType, text } = (await service.figures()) ?? { contentType: 'text/plain', text: '' }
    return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  })
  return () => listener.close(0)
}

import { randomBytes } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { makeFolder } from '#host/files.ts'
import type { Log } from '#host/log.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import type { BesideModels } from '#service/config/open-beside-models.ts'
import type { Config } from '#service/config/read-config.ts'
import type { OpenService } from '#service/running/open-service.ts'
import { listenFailure } from '../command.ts'
import { type DataFolder, dataFolder, removeFile, writePrivateFile } from '../data/data-folder.ts'
import { secretsToStart } from '../data/folder-secrets.ts'
import { ledgerPlaceOf, noteLedgerPlace, requireNoLedgerHere } from '../data/ledger-place.ts'
import { folderWaitMs, openWhenFree, requireNoService, warmSoon } from '../data/service-admin.ts'
import { faultsOf, loadConfig } from './config.ts'
import type { WorkerPart } from './workers.ts'

type Environment = Readonly<Record<string, string | undefined>>

interface ServingOptions {
  path: string
  config: Config
  env: Environment
  log: Log
  /** Called with what the log must not show, again after each reload. */
  hide: (secrets: ReadonlySet<string>) => void
  /** Where several processes serve together, which of them this one is. */
  worker?: WorkerPart | null
}

/** A service that runs by its configuration. */
interface Serving {
  baseUrl: string
  /** Where it listens, for operators' commands. */
  url: string
  models: number
  /**
   * Takes models, their upstreams, limits and the system prompt from the file again. A faulty one changes nothing, and
   * is told in the log.
   */
  reload(): Promise<void>
  /** Takes no more requests, lets running ones end, and ends. */
  close(): Promise<void>
}

type Ends = (() => Promise<unknown>)[]

const adminTokenBytes = 32

/** Starts everything; what was started is stopped again where a later part fails. */
export async function startServing(options: ServingOptions): Promise<Serving> {
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

async function start(
  { path, config, env, log, hide, worker }: ServingOptions,
  ends: Ends,
): Promise<Omit<Serving, 'close'>> {
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
  // Other workers answer until this one can; a single process answers that it starts.
  const early = worker ? null : await listen(file)
  if (early) ends.push(() => early.close())
  await makeFolder(folder.root)
  const adminToken = worker?.adminToken ?? randomBytes(adminTokenBytes).toString('base64url')
  const { openBesideModels } = await import('#service/config/open-beside-models.ts')
  const beside = await openBesideModels(file, log)
  ends.push(() => beside.close())
  const service = await open(openService, { config, folder, env, log, models, beside: beside.options, adminToken })
  ends.push(() => service.close())
  const listener = early ?? (await listen(file))
  listener.serve(service.fetch)
  // Once more, and so before the service: no request may arrive at one that is closing.
  ends.push(() => listener.close())
  if (file.metrics?.listen)
    ends.push(await listenForFigures(file.metrics.listen, file.metrics.token, { service, worker }))
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
        const next = await loadConfig(path, env)
        hide(next.secrets)
        const { systemPrompt, plan, limits = {} } = next.file
        const others = next.openModels(around)
        try {
          service.reload({ models: others, systemPrompt, plan, limits })
        } catch (error) {
          await Promise.all(others.map(model => model.close?.()))
          throw error
        }
        sold = others
        log.info({ models: next.file.models.length }, 'The configuration was reloaded.')
        const settings = settingsThatWait(file, next.file)
        if (settings.length) log.warn({ settings }, 'Some changed settings need a restart.')
      } catch (error) {
        const faults = faultsOf(error) ?? (error instanceof Error ? error.message : String(error))
        log.error({ faults }, 'The new configuration is invalid; the service keeps the old one.')
      }
    },
  }
}

interface Opening {
  config: Config
  folder: DataFolder
  env: Environment
  log: Log
  models: Parameters<OpenService['reload']>[0]['models']
  beside: BesideModels['options']
  adminToken: string
}

async function open(
  openService: typeof import('#service/running/open-service.ts').openService,
  { config: { file }, folder, env, log, models, beside, adminToken }: Opening,
): Promise<OpenService> {
  const database = file.database ?? env.DATABASE_URL
  const valkey = file.valkey ?? env.VALKEY_URL
  const ledger = await ledgerPlaceOf(folder.root, { ...env, DATABASE_URL: database })
  if (ledger.database.engine === 'postgres') await requireNoLedgerHere(folder)
  const { paymentSettings } = await import('#service/config/payment-config.ts')
  const [first, ...former] = file.secrets ?? (await secretsToStart(folder, env))
  const opening = () =>
    openService({
      publicUrl: file.publicUrl,
      folder: dirname(folder.database),
      ...(database ? { database } : {}),
      ...(valkey ? { valkey } : {}),
      secrets: [first, ...former],
      models,
      ...(file.payments ? { payments: paymentSettings(file.payments) } : {}),
      ...(file.staking ? { staking: file.staking } : {}),
      ...(file.vendor ? { vendor: file.vendor } : {}),
      systemPrompt: file.systemPrompt,
      ...beside,
      plan: file.plan,
      trustedProxies: file.trustedProxies,
      ...(file.limits ? { limits: file.limits } : {}),
      ...(file.metrics ? { metrics: file.metrics.token ? { token: file.metrics.token } : {} } : {}),
      adminToken,
      log,
    })
  const service = await openWhenFree(folder, opening, waitLogged(log))
  await noteLedgerPlace(folder, ledger.database)
  return service
}

/** Requests are answered with 503 meanwhile, so the log says once what the start waits for. */
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

async function listen({ listen: at, vendor }: Pick<ConfigFile, 'listen' | 'vendor'>) {
  const { answerStarting, Listener } = await import('#service/http/listener.ts')
  try {
    return await Listener.open({ ...at, starting: answerStarting({ vendor }) })
  } catch (error) {
    throw listenFailure(error, at, 'in `listen`')
  }
}

/** Operators' commands come from this machine, whatever the service listens on. */
function loopbackOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
}

/** What a reload takes over; the rest is read once, at the start. */
const reloaded: ReadonlySet<string> = new Set(['models', 'systemPrompt', 'plan', 'limits'])

/** Names of settings that were changed and count only from the next start on. */
const settingsThatWait = (inForce: ConfigFile, next: ConfigFile): string[] =>
  Object.keys({ ...inForce, ...next }).filter(
    name => !reloaded.has(name) && asText(inForce[name as keyof ConfigFile]) !== asText(next[name as keyof ConfigFile]),
  )

const asText = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, inside) => (typeof inside === 'bigint' ? `${inside}` : inside))

/** Figures on an address of their own, where every other path is a 404. Resolves to what ends it. */
async function listenForFigures(
  { host, port }: { host: string; port: number },
  token: string | undefined,
  { service, worker }: { service: Pick<OpenService, 'figures'>; worker: WorkerPart | null | undefined },
): Promise<() => Promise<void>> {
  // Each worker has a port, because whoever adds them up has to know whose they are.
  const at = { host, port: port + (worker ? worker.number - 1 : 0) }
  const [{ Listener }, { isSameSecret }] = await Promise.all([
    import('#service/http/listener.ts'),
    import('#host/signatures.ts'),
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

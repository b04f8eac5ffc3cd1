import { existsSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayOverrides, gateways } from '../../scripts/peers/packages.ts'
import { freePort } from '../../test/postgres/cluster.ts'
import { installPeers } from './install.ts'
import { post, type Side } from './load.ts'
import type { BenchOptions } from './options.ts'
import { type Prepared, prepareService, type ServiceOrder, sameName, startService } from './product.ts'
import { ServerProcess } from './server-process.ts'

export interface RunningSide extends Side {
  server: ServerProcess
}

const body = (model: string, text: string, isStream: boolean): object => ({
  model,
  messages: [{ role: 'user', content: text }],
  max_tokens: 4_096,
  ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
})

/** farebox as packed, with its keys; `model` is the name that callers use. */
export async function fareboxSide(order: ServiceOrder, model = sameName): Promise<RunningSide> {
  const prepared = await prepareService(order)
  return fareboxChats(await startService(order, prepared), prepared, model)
}

export const fareboxChats = (server: ServerProcess, { port, keys }: Prepared, model = sameName): RunningSide => ({
  ...{ name: server.name, port, pid: server.pid, server },
  chat: (text, place, isStream = false) =>
    post(
      '/api/v1/chat/completions',
      { authorization: `Bearer ${keys[place % keys.length]}` },
      body(model, text, isStream),
    ),
})

export const portkeyVersion = gateways['@portkey-ai/gateway']

/** Portkey's gateway, which has no keys, limits or charges. */
export async function portkeySide(upstreamPort: number, nodeArgs: readonly string[] = []): Promise<RunningSide> {
  const modules = await installPeers('gateways', gateways, gatewayOverrides)
  const name = `Portkey ${portkeyVersion}`
  const port = await freePort()
  const program = join(modules, '@portkey-ai/gateway/build/start-server.js')
  const server = await ServerProcess.start({
    name,
    port,
    readyPath: '/',
    args: [...nodeArgs, program, `--port=${port}`, '--headless'],
  })
  const headers = {
    authorization: 'Bearer bench',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
  }
  return {
    ...{ name, port, pid: server.pid, server },
    chat: (text, _place, isStream = false) => post('/v1/chat/completions', headers, body(sameName, text, isStream)),
  }
}

/** A pipe that passes everything on unchanged. */
export async function bareSide(upstreamPort: number, nodeArgs: readonly string[] = []): Promise<RunningSide> {
  const port = await freePort()
  const program = join(import.meta.dirname, 'bare-pipe.ts')
  const name = 'bare undici pipe'
  const server = await ServerProcess.start({
    name,
    port,
    readyPath: '/',
    args: [...nodeArgs, program, `${port}`, `http://127.0.0.1:${upstreamPort}`],
  })
  return {
    ...{ name, port, pid: server.pid, server },
    chat: (text, _place, isStream = false) => post('/v1/chat/completions', {}, body(sameName, text, isStream)),
  }
}

export const leastName = 'bare pipe with a ledger'

/** A pipe with a key and the ledger's rows, and nothing else: the least that a durable charge costs here. */
export async function leastSide(
  upstreamPort: number,
  folder: string,
  nodeArgs: readonly string[] = [],
): Promise<RunningSide> {
  const port = await freePort()
  const authorization = 'Bearer bench'
  const program = join(import.meta.dirname, 'least-service.ts')
  const server = await ServerProcess.start({
    name: leastName,
    port,
    readyPath: '/',
    args: [
      ...nodeArgs,
      program,
      `${port}`,
      `http://127.0.0.1:${upstreamPort}`,
      join(folder, 'least.db'),
      authorization,
    ],
  })
  return {
    ...{ name: leastName, port, pid: server.pid, server },
    chat: (text, _place, isStream = false) =>
      post('/v1/chat/completions', { authorization }, body(sameName, text, isStream)),
  }
}

/** Directly to the engine. */
export const noGateway = (upstreamPort: number): Side => ({
  name: 'no gateway',
  port: upstreamPort,
  chat: (text, _place, isStream = false) => post('/v1/chat/completions', {}, body(sameName, text, isStream)),
})

/** Starts the sides one after another, passes them to the measurement, and stops them. */
export async function withSides<Measured>(
  starts: readonly (() => Promise<RunningSide>)[],
  measure: (sides: RunningSide[]) => Promise<Measured>,
): Promise<Measured> {
  const sides: RunningSide[] = []
  try {
    for (const start of starts) sides.push(await start())
    return await measure(sides)
  } catch (error) {
    for (const { server } of sides) server.mustRun()
    throw error
  } finally {
    await Promise.all(sides.map(({ server }) => server.stop()))
  }
}

const preload = new URL('profile-on-signal.ts', import.meta.url).href
const allocations = new URL('allocations-on-signal.ts', import.meta.url).href

/** How long a profiler may take to start and a profile to be written, in milliseconds. */
const startMs = 300
const writeMs = 1_500
const allocationsMs = 15_000

/** Arguments for a Node that is profiled; none without a folder for profiles. */
export const profileArgs = ({ profile }: BenchOptions): string[] =>
  profile ? ['--import', `${preload}?folder=${encodeURIComponent(profile)}`] : []

/** For a Node whose allocations are to be counted into this folder. */
export const allocationArgs = (folder: string): string[] => [
  '--import',
  `${allocations}?folder=${encodeURIComponent(folder)}`,
]

/** Measures what the main thread of a side allocates while it answers requests; returns the bytes per request. */
export async function bytesPerRequest(
  { server, pid }: RunningSide,
  folder: string,
  measure: () => Promise<{ requests: number }>,
): Promise<number> {
  server.signal('SIGUSR2')
  await sleep(startMs)
  const { requests } = await measure()
  server.signal('SIGUSR2')
  const file = join(folder, `${pid}.json`)
  for (let waited = 0; !existsSync(file); waited += startMs) {
    if (waited > allocationsMs) throw new Error(`${server.name} did not report what it allocated.`)
    await sleep(startMs)
  }
  const { bytes } = JSON.parse(await readFile(file, 'utf8'))
  await rm(file)
  return bytes / requests
}

/** Writes a CPU profile of farebox's main thread while it is measured, if there is a folder for them. */
export async function profiled<Measured>(
  { profile }: BenchOptions,
  side: Side & Partial<Pick<RunningSide, 'server'>>,
  measure: () => Promise<Measured>,
): Promise<Measured> {
  if (!profile || !side.name.startsWith('farebox')) return measure()
  await mkdir(profile, { recursive: true })
  side.server?.signal('SIGUSR2')
  await sleep(startMs)
  try {
    return await measure()
  } finally {
    side.server?.signal('SIGUSR2')
    await sleep(writeMs)
  }
}

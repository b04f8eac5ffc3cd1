import { mkdir } from 'node:fs/promises'
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

/** farebox as it is packed, with its keys; `model` is the name that callers use. */
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
export async function portkeySide(upstreamPort: number): Promise<RunningSide> {
  const modules = await installPeers('gateways', gateways, gatewayOverrides)
  const name = `Portkey ${portkeyVersion}`
  const port = await freePort()
  const program = join(modules, '@portkey-ai/gateway/build/start-server.js')
  const server = await ServerProcess.start({
    name,
    port,
    readyPath: '/',
    args: [program, `--port=${port}`, '--headless'],
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

/** A pipe that adds nothing and knows nothing. */
export async function bareSide(upstreamPort: number): Promise<RunningSide> {
  const port = await freePort()
  const program = join(import.meta.dirname, 'bare-pipe.ts')
  const name = 'bare undici pipe'
  const server = await ServerProcess.start({
    name,
    port,
    readyPath: '/',
    args: [program, `${port}`, `http://127.0.0.1:${upstreamPort}`],
  })
  return {
    ...{ name, port, pid: server.pid, server },
    chat: (text, _place, isStream = false) => post('/v1/chat/completions', {}, body(sameName, text, isStream)),
  }
}

/** Straight to the engine. */
export const noGateway = (upstreamPort: number): Side => ({
  name: 'no gateway',
  port: upstreamPort,
  chat: (text, _place, isStream = false) => post('/v1/chat/completions', {}, body(sameName, text, isStream)),
})

/** Starts them in turn, gives them to the measurement, and stops them. */
export async function withSides<Measured>(
  starts: readonly (() => Promise<RunningSide>)[],
  measure: (sides: RunningSide[]) => Promise<Measured>,
): Promise<Measured> {
  const sides: RunningSide[] = []
  try {
    for (const start of starts) sides.push(await start())
    return await measure(sides)
  } finally {
    await Promise.all(sides.map(({ server }) => server.stop()))
  }
}

const preload = new URL('profile-on-signal.ts', import.meta.url).href

/** How long a profiler may take to start and a profile to be written, in milliseconds. */
const startMs = 300
const writeMs = 1_500

/** For a Node that is to be profiled; none where no folder for profiles was named. */
export const profileArgs = ({ profile }: BenchOptions): string[] =>
  profile ? ['--import', `${preload}?folder=${encodeURIComponent(profile)}`] : []

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

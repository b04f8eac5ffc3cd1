import { join } from 'node:path'
import { gatewayOverrides, gateways } from '../../scripts/peers/packages.ts'
import { freePort } from '../../test/postgres/cluster.ts'
import { post } from './caller.ts'
import { installPeers } from './install.ts'
import type { Side } from './load.ts'
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

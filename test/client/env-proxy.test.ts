import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { undiciWire } from '#client/wire/wire.ts'

/** A proxy that allows no tunnels, and a service on this machine; a proxy is asked for a whole URL, a service for a path. */
let server: Server
let tunnels: string[]
let wires: ReturnType<typeof undiciWire>[]

const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

beforeEach(async () => {
  tunnels = []
  wires = []
  server = createServer(({ url }, response) => response.end(url))
  server.on('connect', ({ url = '' }, socket) => {
    tunnels.push(url)
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) vi.stubEnv(name, address())
  for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, undefined)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
})

afterEach(async () => {
  await Promise.all(wires.map(each => each.close()))
  server.closeAllConnections()
  server.close()
  vi.unstubAllEnvs()
})

const ask = (url: string, options: Parameters<typeof undiciWire>[0] = {}) => {
  const made = undiciWire(options)
  wires.push(made)
  return made.wire({ method: 'GET', url, headers: {} })
}

test('a service is reached through the proxy of the environment; its refusal means that nothing was sent', async () => {
  await expect(ask('https://service.invalid/api/v1')).rejects.toMatchObject({ kind: 'unreachable', wasSent: false })
  expect(tunnels).toEqual(['service.invalid:443'])
})

test('a service on this machine is never asked through a proxy', async () => {
  const { body } = await ask(`${address()}/api`)
  expect(await buffer(body)).toEqual(Buffer.from('/api'))
  expect(tunnels).toEqual([])
})

test.each([
  ['NO_PROXY names the service', { NO_PROXY: 'service.invalid' }, {}],
  ['Node’s switch is off', { NODE_USE_ENV_PROXY: undefined }, {}],
  [
    'addresses are checked',
    {},
    { lookup: (_: string, __: object, done: (error: Error, at: string) => void) => done(new Error('checked'), '') },
  ],
])('no proxy is used if %s', async (_, env, options) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  await expect(ask('https://service.invalid/', options)).rejects.toThrow()
  expect(tunnels).toEqual([])
})

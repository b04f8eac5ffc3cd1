import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ChaosProxy, type Trouble } from './chaos-proxy.ts'
import { engineTroubles } from './engine-troubles.ts'

test('a service whose engine is behind a bad network charges what it answered, once', {
  timeout: 120_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-network-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const report = await engineTroubles({ rounds: 16, seed: 3, folder })
  expect(report.failures).toEqual([])
  expect(report.answered).toBeGreaterThan(3)
  expect(report.broken).toBeGreaterThan(3)
})

/** What a client reads that sends four bytes to an echo behind this trouble; null where it is reset. */
async function echoed(trouble: Trouble): Promise<{ read: string | null; sent: number }> {
  let sent = 0
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', bytes => {
      sent += bytes.length
      socket.end(bytes)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const proxy = await ChaosProxy.to(typeof address === 'object' ? (address?.port ?? 0) : 0)
  proxy.trouble = trouble
  const client = connect(proxy.port, '127.0.0.1')
  let read: string | null = ''
  client.on('data', bytes => {
    read += bytes.toString()
  })
  client.on('error', () => {
    read = null
  })
  client.write('echo')
  // Not `once`, which a reset rejects.
  await new Promise(resolve => client.on('close', resolve))
  for (const socket of sockets) socket.destroy()
  server.close()
  await proxy.close()
  return { read, sent }
}

const troubles: [what: string, trouble: Trouble, read: string | null, sent: number][] = [
  ['passes all where there is none', { kind: 'none' }, 'echo', 4],
  ['passes all, later', { kind: 'latency', ms: 5 }, 'echo', 4],
  ['resets after so many bytes', { kind: 'cut', afterBytes: 2 }, null, 4],
  ['lets nothing come back', { kind: 'black hole' }, '', 4],
  ['sends twice what was sent once', { kind: 'twice' }, 'echo', 8],
  ['refuses', { kind: 'refused' }, null, 0],
]

test.each(troubles)('the proxy %s', async (_what, trouble, read, sent) => {
  expect(await echoed(trouble)).toEqual({ read, sent })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { beforeAll, expect, test, vi } from 'vitest'
import { lockFolderOf } from '#ledger/store/sqlite/connection.ts'
import { launcher } from '../../build/built-product.ts'
import { chunk, event, finish, type Upstream, upstream } from '../../engines/openai/upstream.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { runCommand } from '../run-command.ts'
import { createKeyIn } from './created-key.ts'
import { spawnServe } from './spawned-serve.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

let folder: string
beforeAll(() => {
  folder = temporaryFolder('check')
})

const model = (id: string, upstreams: string, price = '1') => `
  - id: ${id}
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: ${price}, outputPerMillionUsd: ${price} }
    upstreams: [${upstreams}]`

const config = (models: string) => `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
models:${models}
`

async function check(text: string, env: NodeJS.ProcessEnv = {}) {
  const file = join(folder, 'farebox.yaml')
  await writeFile(file, text)
  return runCommand(['serve', '--check', '--config', file], env)
}

test('--check says what would be served', async () => {
  const { code, stdout } = await check(config(model('one', '{ engine: demo }')))
  expect([code, stdout]).toEqual([
    0,
    [
      'The configuration is valid. It serves http://127.0.0.1:8402 on 127.0.0.1:0.',
      'No top-ups: only operators give credit.',
      'Models:',
      '  one  text  demo',
      '',
    ].join('\n'),
  ])
})

test('--check tells that a listener which others reach trusts no proxy', async () => {
  const open = config(model('one', '{ engine: demo }')).replace('127.0.0.1:0', '0.0.0.0:0')
  expect((await check(open)).stdout).toContain('trustedProxies')
  expect((await check(`${open}trustedProxies: [127.0.0.1]\n`)).stdout).toContain('from the headers of 127.0.0.1')
  const wrong = await check(`${open}trustedProxies: [proxy.internal]\n`)
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('such as 127.0.0.1 or 10.0.0.0/8')])
})

test.each([
  [
    'a fault',
    config(model('one', '{ engine: demo, wait: 3 }')),
    /:8:33 models\[0\]\.upstreams\[0\]\.wait: Unknown setting.*\n.*has an error\. .*`farebox serve --check --config \S+farebox\.yaml`/,
  ],
  [
    'a key that is not set',
    config(model('one', `{ engine: openai, baseUrl: 'http://a.example/v1', apiKey: "\${NONE}" }`)),
    /variable NONE is not set/,
  ],
])('--check says %s, and ends with 1', async (_, text, says) => {
  const { code, stderr, stdout } = await check(text)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(says)
})

test('D4: what a variable gives is in nothing that --check says, whether the file is whole or not', async () => {
  const env = { ENGINE_KEY: 'sk-of-the-operator-0001', OWN_SECRET: 'a secret of the service that nobody reads' }
  const engine = `{ engine: openai, baseUrl: 'http://a.example/v1', apiKey: "\${ENGINE_KEY}" }`
  const whole = `${config(model('one', engine))}secrets: ["\${OWN_SECRET}"]\n`
  const runs = [await check(whole, env), await check(whole.replace('price', 'prize'), env), await check(whole)]
  for (const id of ['ENGINE_KEY', 'OWN_SECRET'])
    runs.push(await check(whole.replace('http://a.example/v1', `\${${id}}`).replace('id: one', `id: "\${${id}}"`), env))
  for (const { stdout, stderr } of runs)
    for (const secret of Object.values(env)) expect(stdout + stderr).not.toContain(secret)
  expect(runs[0]?.code).toBe(0)
})

test('a missing file, and an unknown log level, are reported', async () => {
  const none = await runCommand(['serve', '--config', join(folder, 'none.yaml')])
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('farebox init')])
  const level = await runCommand(['serve', '--log-level', 'loud'])
  expect([level.code, level.stderr]).toEqual([2, expect.stringContaining('error, warn, info')])
})

test('--reload signals no other program that has the process number of a service that was killed', {
  tags: ['posix'],
}, async () => {
  const file = join(folder, 'farebox.yaml')
  await writeFile(file, config(model('one', '{ engine: demo }')))
  const other = spawn('sleep', ['60'])
  const ended = once(other, 'exit')
  await mkdir(join(folder, '.farebox', 'service'), { recursive: true })
  // Nothing listens on port 1.
  const left = { url: 'http://127.0.0.1:1', token: 'x', pid: other.pid }
  await writeFile(join(folder, '.farebox', 'service', 'admin.json'), JSON.stringify(left))
  try {
    const { code, stderr } = await runCommand(['serve', '--reload', '--config', file])
    expect([code, stderr]).toEqual([1, expect.stringContaining('does not answer')])
  } finally {
    other.kill('SIGKILL')
  }
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('a signal to reload that comes while the service starts does not end it', { tags: ['posix'] }, async () => {
  const own = temporaryFolder('reload')
  const [file, service] = [join(own, 'farebox.yaml'), join(own, '.farebox', 'service')]
  await writeFile(file, config(model('one', '{ engine: demo }')))
  await mkdir(service, { recursive: true })
  // The start waits for another process that has the folder.
  const lock = lockFolderOf(join(service, 'farebox.db'))
  const child = spawn(process.execPath, [launcher, 'serve', '--config', file])
  const ended = once(child, 'exit')
  let told = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => (told += piece))
  try {
    await vi.waitUntil(() => told.includes('waiting up to'), { timeout: 20_000 })
    child.kill('SIGHUP')
    await sleep(200)
    lock.release()
    await vi.waitUntil(() => told.includes('The configuration was reloaded.'), { timeout: 20_000 })
    expect(told).toMatch(/^ready http/m)
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
  }
})

/** Sends its first piece at once, and the rest when it is let. */
async function slowServer(): Promise<Upstream & { go(): void }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = await upstream(async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(chunk('first ')))
    await promise
    response.end(`${event(chunk('last'))}${event(finish)}data: [DONE]\n\n`)
  })
  return { ...server, go: resolve }
}

test('a reload and a stop break no stream off; a faulty file changes nothing; the key stays out of the log', {
  tags: ['posix'],
}, async () => {
  const server = await slowServer()
  const openai = `{ engine: openai, baseUrl: '${server.baseUrl}', apiKey: "\${ENGINE_KEY}" }`
  const serve = await spawnServe(config(model('one', openai)), { ENGINE_KEY: 'key-of-the-engine' })
  try {
    const key = await createKeyIn(serve.folder)
    const call = (path: string, body?: object) =>
      fetch(`${serve.baseUrl}${path}`, {
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      })
    const ids = async () => {
      const { data } = (await (await call('/models')).json()) as { data: { id: string }[] }
      return data.map(({ id }) => id)
    }
    const chat = { messages: [{ role: 'user', content: 'hi' }], stream: true }
    const streamed = await call('/chat/completions', { ...chat, model: 'one' })
    expect(streamed.status).toBe(200)
    await serve.write(config(model('two', openai, '2')))
    serve.child.kill('SIGHUP')
    await serve.logged('The configuration was reloaded.')
    expect(await ids()).toEqual(['two'])
    expect((await call('/chat/completions', { ...chat, model: 'one' })).status).toBe(404)
    await serve.write('models: [')
    serve.child.kill('SIGHUP')
    await serve.logged('The new configuration is invalid; the service keeps the old one.')
    expect(await ids()).toEqual(['two'])
    serve.child.kill('SIGTERM')
    await serve.logged('No more requests are accepted; waiting for running ones to finish.')
    await turn()
    server.go()
    expect(await streamed.text()).toContain('last')
    expect(await serve.ended).toBe(0)
    expect(server.seen[0]?.headers.authorization).toBe('Bearer key-of-the-engine')
    expect(JSON.stringify(serve.log)).not.toContain('key-of-the-engine')
  } finally {
    await serve.dispose()
    await server.close()
  }
})

test.each([
  ['', 65],
  ['trustedProxies: [127.0.0.1]\n', 3_900],
])('an idle connection stays open longer than a proxy keeps its own (%j)', async (proxies, seconds) => {
  const serve = await spawnServe(config(model('one', '{ engine: demo }')) + proxies)
  try {
    const { headers } = await fetch(`${serve.baseUrl}/models`)
    expect(headers.get('keep-alive')).toBe(`timeout=${seconds}`)
  } finally {
    await serve.dispose()
  }
})

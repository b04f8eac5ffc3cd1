import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { localModels, withLocalModels } from '#cli/up/local-service.ts'
import { findLocalServers } from '#engines/openai/find-local-servers.ts'
import { openService } from '../service/open-service.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { modelServer } from './model-server.ts'
import { runCommand } from './run-command.ts'

vi.setConfig({ testTimeout: 60_000 })

let folder: string
let server: Awaited<ReturnType<typeof modelServer>>
beforeAll(async () => {
  folder = temporaryFolder('init')
  server = await modelServer()
})
afterAll(() => server.close())

const silent = { info() {}, warn() {}, error() {} }

test('init writes a file that serve accepts, with the models that were found', async () => {
  const file = join(folder, 'found.yaml')
  const port = String(server.port)
  const made = await runCommand(['init', '--config', file, '--port', port, '--no-search'])
  expect([made.code, made.stderr]).toEqual([0, ''])
  expect(made.stdout).toContain('The prices are guesses')
  expect(made.stdout).toMatch(/Left out: nomic-embed-text, from http:.*its name suggests that it is not a chat model/)
  const text = await readFile(file, 'utf8')
  expect(text).toContain(`- id: "llama3.2"\n    type: text\n    traits: [default]\n    contextTokens: 4096\n`)
  expect(text).toContain('contextTokens: 4096 # a guess: the server does not report it')
  expect(text.match(/outputPerMillionUsd: 0\.60 } # a guess$/gm)).toHaveLength(3)
  expect(text).not.toContain('nomic-embed-text')
  const checked = await runCommand(['serve', '--check', '--config', file])
  expect([checked.code, checked.stderr]).toEqual([0, ''])
  expect(checked.stdout).toMatch(/llama3\.2 +text +openai\n +Qwen3-8B +text +openai\n/)
  const again = await runCommand(['init', '--config', file, '--no-search'])
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already')])
})

test('where none is found, init writes a demonstration', async () => {
  const file = join(folder, 'none.yaml')
  expect((await runCommand(['init', '--config', file, '--no-search'])).code).toBe(0)
  const checked = await runCommand(['serve', '--check', '--config', file])
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('demo-chat  text  demo')])
})

test('up offers such models beside its own, and they answer', async () => {
  const found = await localModels({ folder, log: silent }, [{ name: 'a server', port: server.port }], 30_000)
  expect(found.map(({ id }) => id)).toEqual(['llama3.2', 'Qwen3-8B', 'demo-chat'])
  const { demoModels } = await import('#service/models/demo-models.ts')
  const service = await openService({ models: engines => withLocalModels(demoModels(engines), found) })
  const key = await service.key(1)
  const body = { model: 'llama3.2', messages: [{ role: 'user', content: 'hi' }] }
  const response = await service.post('/chat/completions', body, key)
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello')])
  const demo = await service.post('/chat/completions', { ...body, model: 'demo-chat' }, key)
  expect(await demo.text()).toContain('demonstration')
  expect(server.asked.at(-1)?.model).toBe('llama3.2:latest')
  await service.close()
})

test('init searches another host, and writes its name', async () => {
  const file = join(folder, 'host.yaml')
  const search = ['--config', file, '--port', String(server.port), '--no-search']
  expect(await runCommand(['init', ...search, '--host', 'http://localhost'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^`--host` is `http:\/\/localhost`; use a name or an address/),
  })
  const made = await runCommand(['init', ...search, '--host', 'localhost'])
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`from http://localhost:${server.port}/v1`) })
  expect(await readFile(file, 'utf8')).toContain(`baseUrl: "http://localhost:${server.port}/v1"`)
  const none = await runCommand(['init', '--config', `${file}.none`, '--no-search', '--host', 'gpu.internal'])
  expect(none.stdout).toContain('No model server was found on gpu.internal;')
})

test.each([
  ['a server of something else', 200, '{"hello":"world"}'],
  ['no JSON', 200, '<html>'],
  ['an empty list', 200, '{"object":"list","data":[]}'],
  ['another address', 302, ''],
])('%s is not a model server', async (_, status, text) => {
  const other = await modelServer({ status, text })
  expect(await findLocalServers([{ name: 'x', port: other.port }], 30_000)).toEqual([])
  await other.close()
})

test.each([401, 403])('a server that requires a key (%i) is named, with what to do', async status => {
  const other = await modelServer({ status, text: '{"error":"Unauthorized"}' })
  const file = join(folder, `key-${status}.yaml`)
  const made = await runCommand(['init', '--config', file, '--port', String(other.port), '--no-search'])
  await other.close()
  expect([made.code, made.stderr]).toEqual([0, ''])
  expect(made.stdout).toContain(
    `Left out: every model, from http://127.0.0.1:${other.port}/v1; the server requires a key.`,
  )
  expect(await localModels({ folder, log: silent }, [{ name: 'a server', port: other.port }], 30_000)).toEqual([])
})

test('a port without a listener is not listed either', async () => {
  const gone = await modelServer()
  await gone.close()
  expect(await findLocalServers([{ name: 'x', port: gone.port }], 30_000)).toEqual([])
})

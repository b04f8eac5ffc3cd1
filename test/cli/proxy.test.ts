import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { temporaryFolder } from '../agent/open-agent.ts'
import { payTo, pretendService, walletKey } from '../agent/pretend-service.ts'
import { launcher } from '../build/built-product.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { closedAfterEach } from '../closed-after-each.ts'
import { localServer } from '../local-server.ts'
import { runCommand } from './run-command.ts'

const closing = closedAfterEach()

async function spawnProxy(env: Record<string, string>, ...flags: string[]) {
  const child = spawn(process.execPath, [launcher, 'proxy', '--port', '0', ...flags], {
    env: { PATH: '', FAREBOX_DATA: temporaryFolder(), XDG_STATE_HOME: temporaryFolder(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  closing.push(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => String((await lines.next()).value)
  return { line, stop: () => child.kill('SIGTERM'), ended }
}

async function walletEnvironment() {
  const service = await pretendService()
  closing.push(service.close)
  const env = { FAREBOX_BASE_URL: service.baseUrl, FAREBOX_WALLET_KEY: walletKey, FAREBOX_PAYEE: payTo }
  return { service, env }
}

test('any program that takes a base URL and a key is paid for, until the proxy is stopped', async () => {
  const { service, env } = await walletEnvironment()
  const proxy = await spawnProxy(env, '--json')
  const { url, token, serviceUrl, wallet } = JSON.parse(await proxy.line())
  expect({ serviceUrl, wallet }).toEqual({ serviceUrl: service.baseUrl, wallet: expect.stringMatching(/^0x/) })
  expect(token).toMatch(/^fbx_[\w-]{32}$/)
  const openai = new OpenAI({ baseURL: url, apiKey: token })
  const answer = await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  proxy.stop()
  expect(await proxy.ended).toBe(0)
})

test('a token that its owner set is not printed', async () => {
  const { env } = await walletEnvironment()
  const proxy = await spawnProxy({ ...env, FAREBOX_PROXY_TOKEN: 'chosen-by-its-owner' })
  const said = [await proxy.line(), await proxy.line(), await proxy.line()].join('\n')
  expect(said).toMatch(/export OPENAI_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/v1/)
  expect(said).not.toContain('chosen-by-its-owner')
})

test('--data names the folder of the wallet, before the environment does', async () => {
  const folder = temporaryFolder()
  await createKeyFile(folder, 'a passphrase of some length')
  const end = await runCommand(['proxy', '--port', '0', '--data', folder], { FAREBOX_DATA: temporaryFolder() })
  expect(end).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/`farebox proxy --passphrase-file FILE --data '[^']+'`/),
  })
})

describe('it does not start', () => {
  const data = { FAREBOX_DATA: temporaryFolder() }

  test.each([
    { where: 'nothing pays', env: data, code: 1, says: /neither a wallet nor an API key.*farebox wallet create/s },
    {
      where: 'the token is a word',
      env: { FAREBOX_PROXY_TOKEN: 'secret' },
      code: 2,
      says: /FAREBOX_PROXY_TOKEN is invalid/,
    },
    {
      where: 'the rule for unpriced calls is none',
      env: { FAREBOX_UNPRICED_CALLS: 'yes' },
      code: 2,
      says: /Use `ask` or `allow`/,
    },
  ])('where $where', async ({ env, code, says }) => {
    const end = await runCommand(['proxy', '--port', '0'], env)
    expect(end).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) })
    expect(end.stderr).not.toContain('secret')
  })

  test('where the port is taken', async () => {
    const taken = await localServer(() => undefined)
    closing.push(taken.close)
    const { port } = taken
    const end = await runCommand(['proxy', '--port', `${port}`], { ...data, FAREBOX_API_KEY: canaryApiKey })
    expect(end).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`Port ${port} is taken.*--port`, 's')),
    })
  })
})

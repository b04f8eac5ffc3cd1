/** `farebox doctor --assistant`: what an assistant with the same settings would find. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { canaryApiKey, canaryEvmKey, canaryPassphrase } from '../../canary/canaries.ts'
import { type LocalServer, localServer } from '../../local-server.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { fakeClock, fakeService, order, sampleWallet, usd } from '../../wallet/sample-wallet.ts'
import { runCommand } from '../run-command.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let folder: string
let service: LocalServer
/** How far its clock is ahead, and how it answers a list of models; a test changes them. */
let said = {
  aheadMs: 0,
  models: [200, '{"data":[]}'] as const satisfies readonly [number, string] as readonly [number, string],
}
const asked: string[] = []
beforeAll(async () => {
  folder = temporaryFolder('doctor')
  service = await localServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.setHeader('date', new Date(Date.now() + said.aheadMs).toUTCString())
    if (request.url === '/api/v1/api_keys/rate_limits') {
      const isKnown = request.headers.authorization === `Bearer ${canaryApiKey}`
      return response.writeHead(isKnown ? 200 : 401).end('{}')
    }
    return response.writeHead(said.models[0]).end(said.models[1])
  })
})
afterAll(() => service.close())

const origin = () => service.url
const walletIn = (name: string) => join(folder, name)

/** Findings as `state check: says next`, and never a secret. */
async function look(env: NodeJS.ProcessEnv, ...flags: string[]) {
  const given = { FAREBOX_BASE_URL: `${origin()}/api/v1`, FAREBOX_DATA: walletIn('none'), ...env }
  const end = await runCommand(['doctor', '--assistant', '--json', ...flags], given)
  expect(`${end.stdout}${end.stderr}`).not.toMatch(new RegExp(`${canaryApiKey}|${canaryEvmKey}|${canaryPassphrase}`))
  const lines = end.stdout.trim().split('\n').filter(Boolean)
  const findings = lines.map(line => JSON.parse(line) as { check: string; state: string; says: string; next?: string })
  const told = findings.map(({ state, check, says, next = '' }) => `${state} ${check}: ${says} ${next}`)
  return { code: end.code, told: told.join('\n'), stderr: end.stderr }
}

test('all that is well is said in lines', async () => {
  const { code, told } = await look({ FAREBOX_API_KEY: canaryApiKey, FAREBOX_MAX_DAY_USD: '3' })
  expect(code).toBe(0)
  expect(told).toMatch(
    /ok settings: These are set and valid: FAREBOX_API_KEY, FAREBOX_BASE_URL, FAREBOX_DATA, FAREBOX_MAX_DAY_USD\./,
  )
  expect(told).toMatch(/ok who pays: The account of FAREBOX_API_KEY/)
  expect(told).toMatch(/\(default\); if a call needs credit, the wallet buys 5\.00 USD without asking/)
  expect(told).toMatch(/ok caps: .*per payment 5\.00 USD \(default\), in 24 hours 3\.00 USD \(FAREBOX_MAX_DAY_USD\)/)
  expect(told).toMatch(/ok service: .* answers\./)
  expect(told).toMatch(/ok api key: The service accepts it\./)
  expect(told).toMatch(/ok clock: It agrees with the service’s clock\./)
  expect(told).toMatch(/ok tools: 20, the default ones: chat, /)
  expect(told).toMatch(/ok files: Files are saved in .*none\/output, because FAREBOX_OUTPUT_DIR is not set/)
  expect(told).not.toMatch(/configuration|ledger/)
})

test.each([
  [
    'a cap that is not read',
    { FAREBOX_MAX_DAI_USD: '3' },
    /broken settings: FAREBOX_MAX_DAI_USD .*FAREBOX_MAX_DAY_USD/,
    1,
  ],
  [
    'an invalid value',
    { FAREBOX_MAX_DAY_USD: 'much' },
    /broken settings: FAREBOX_MAX_DAY_USD is `much`, which is not an amount/,
    1,
  ],
  ['another program’s variable', { FAREBOX_PORT: '1' }, /note settings: farebox does not read FAREBOX_PORT\./, 0],
  [
    'a key that is not taken',
    { FAREBOX_API_KEY: 'wrong' },
    /broken api key: The service does not accept it \(401\)/,
    1,
  ],
  ['no payer', {}, /note who pays: Paid calls are not possible: .*wallet create --service URL --data '.*none'/, 0],
  [
    'a wallet of the environment',
    { FAREBOX_WALLET_KEY: canaryEvmKey },
    /ok who pays: The wallet from the environment, 0x/,
    0,
  ],
  ['tools that are not there', { FAREBOX_TOOLS: 'chat,paint' }, /broken tools: `paint` is neither a tool nor a set/, 1],
  ['chosen tools', { FAREBOX_TOOLS: 'chat' }, /ok tools: 1, chosen by FAREBOX_TOOLS: chat\./, 0],
  ['a folder that cannot be', { FAREBOX_OUTPUT_DIR: '/dev/null/x' }, /broken files: This user may not write/, 1],
  ['a dry run', { FAREBOX_DRY_RUN: '1' }, /note caps: This is a dry run/, 0],
  [
    'a service that is not there',
    { FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1' },
    /broken service: http:\/\/127\.0\.0\.1:9\/api\/v1 does not answer \(.*Check FAREBOX_BASE_URL/,
    1,
  ],
] as const)('%s is told', async (_, env, says, code) => {
  const { code: end, told } = await look(env)
  expect(told).toMatch(says)
  expect(end).toBe(code)
})

test('the service of a wallet is called that, and not the default', async () => {
  const data = walletIn('with-service')
  mkdirSync(data, { mode: 0o700 })
  const name = (baseUrl: string) =>
    writeFileSync(join(data, 'service.json'), JSON.stringify({ farebox: 'service', baseUrl }), { mode: 0o600 })
  name(`${origin()}/api/v1`)
  const unset = { FAREBOX_BASE_URL: undefined }
  expect((await look(unset, '--data', data)).told).toContain(
    `ok service: ${origin()}/api/v1, the service that this wallet was created for, answers.`,
  )
  name('http://127.0.0.1:9/api/v1')
  expect((await look(unset, '--data', data)).told).toMatch(
    /broken service: http:\/\/127\.0\.0\.1:9\/api\/v1, the service that this wallet was created for, does not answer/,
  )
})

test('an invalid value is sent nowhere', async () => {
  asked.length = 0
  await look({ FAREBOX_API_KEY: canaryApiKey, FAREBOX_MAX_DAY_USD: 'much' })
  expect(asked).toEqual([])
})

test('an address without its path, and a wrong clock, are reported', async () => {
  said = { aheadMs: 0, models: [404, '<html>'] }
  expect((await look({ FAREBOX_BASE_URL: origin() })).told).toMatch(
    /broken service: .* answers 404, .*ends in \/api\/v1/,
  )
  said = { aheadMs: 600_000, models: [200, '{"data":[]}'] }
  expect((await look({})).told).toMatch(/broken clock: This machine is (599|600) s behind the service\./)
  said = { ...said, aheadMs: 0 }
})

test('a wallet is reported with its caps, locked or unlocked', async () => {
  const data = walletIn('locked')
  mkdirSync(data, { mode: 0o700 })
  const { address } = await createKeyFile(data, canaryPassphrase, null)
  writeFileSync(join(data, 'policy.json'), '{ "maxDayUsd": "2" }', { mode: 0o600 })
  writeFileSync(join(data, 'stop'), '')
  const passphrase = join(folder, 'passphrase')
  writeFileSync(passphrase, canaryPassphrase)
  chmodSync(passphrase, 0o600)
  const locked = await look({}, '--data', data)
  expect(locked.told).toMatch(new RegExp(`note who pays: The wallet in ${data} \\(${address}\\) is locked\\.`))
  expect(locked.told).toMatch(/in 24 hours 2\.00 USD \(policy\.json\)/)
  expect(locked.told).toMatch(/note caps: The wallet is stopped by the file `stop`/)
  expect((await look({}, '--data', data, '--passphrase-file', passphrase)).told).toMatch(
    /ok who pays: .*it can be unlocked/,
  )
  writeFileSync(passphrase, 'another one')
  const wrong = await look({}, '--data', data, '--passphrase-file', passphrase)
  expect([wrong.code, wrong.told]).toEqual([1, expect.stringMatching(/broken who pays: .* cannot be unlocked: /)])
})

test('a stopped wallet, and a used-up cap, are reported', async () => {
  const clock = fakeClock(Date.now())
  const { wallet, folder: data, dispose } = await sampleWallet({}, { clock })
  onTestFinished(dispose)
  const env = { FAREBOX_WALLET_KEY: canaryEvmKey, FAREBOX_DATA: data }
  await wallet.pay(order({ amountMicroUsd: usd(5) }), fakeService(wallet.address, 'credit').send)
  const open = await look(env)
  expect(open.told).toMatch(
    /ok caps: Paid or reserved: 5\.00 USD of 10\.00 USD in 24 hours, 5\.00 USD of 20\.00 USD in total/,
  )
  expect(open.told).not.toMatch(/note caps/)
  const until = new Date(clock.now() + 24 * 3_600_000).toISOString()
  expect((await look({ ...env, FAREBOX_MAX_DAY_USD: '9.99' })).told).toMatch(
    new RegExp(`note caps: .*in 24 hours leaves 4\\.99 USD.* until ${until}.*FAREBOX_MAX_DAY_USD`),
  )
  expect((await look({ ...env, FAREBOX_MAX_TOTAL_USD: '5' })).told).toMatch(
    /note caps: .*in total leaves 0\.00 USD.*FAREBOX_MAX_TOTAL_USD/,
  )
  await runCommand(['wallet', 'stop', '--data', data])
  expect((await look(env)).told).toMatch(/note caps: The wallet has been stopped since .* `farebox wallet start/)
})

test('looking at caps makes no journal', async () => {
  const data = walletIn('without-journal')
  await look({ FAREBOX_WALLET_KEY: canaryEvmKey, FAREBOX_DATA: data })
  expect(existsSync(data)).toBe(false)
})

test('without the flag it looks at an assistant where one is set up here, and is silent elsewhere', async () => {
  const data = walletIn('books')
  const quiet = await runCommand(['doctor', '--data', data])
  expect(quiet.stdout).not.toMatch(/who pays|caps|tools:/)
  const both = await runCommand(['doctor', '--data', data], { FAREBOX_BASE_URL: `${origin()}/api/v1` })
  expect(both.stdout).toMatch(/ok ledger: [\s\S]*ok caps: [\s\S]*ok service: /)
})

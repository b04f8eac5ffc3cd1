/** `farebox wallet send` against `farebox up`: money back on both local chains, as a user types it. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { askChain } from '#local/chain/process.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { loadLocalKeys, loadLocalSolanaKeys } from '#local/keys.ts'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { visit } from '../agent/opened-wallet-page.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { atTerminal, typedInto } from '../cli/at-terminal.ts'
import { newSvmAccount } from '../payments/svm-chain.ts'
import { newAccount } from '../payments/test-chain.ts'
import { type SpawnedUp, spawnUp } from './spawned-up.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const passphrase = canaryPassphrase

let up: SpawnedUp
let solanaRpcUrl: string
let folder: string
let wallet: { address: string; solanaAddress: string }
beforeAll(async () => {
  up = await spawnUp()
  solanaRpcUrl = String(up.lines.find(({ event }) => event === 'ready')?.solanaRpcUrl)
  folder = join(up.folder, 'assistant')
  wallet = await createKeyFile(folder, passphrase)
  for (const address of [wallet.address, wallet.solanaAddress])
    await fundFromFaucet({ dataDir: up.folder, address, amountMicroUsd: 12_000_000n })
})
afterAll(() => up.dispose())

const run = (args: string[], typed: string[] | null) =>
  atTerminal([...args, '--data', folder], typed, { FAREBOX_BASE_URL: up.baseUrl })

const confirmed = (amount: string, to: string) => `${amount} ${to.slice(-6)}`

async function balanceOf(address: string): Promise<bigint> {
  if (!address.startsWith('0x')) return BigInt(String(await askChain(solanaRpcUrl, 'farebox_usdcBalance', [address])))
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}`
  const token = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
  return BigInt(String(await askChain(up.evmRpcUrl, 'eth_call', [{ to: token, data }, 'latest'])))
}

async function recipientOn(rail: 'Base' | 'Solana'): Promise<string> {
  if (rail === 'Base') return newAccount().address
  const { address } = await newSvmAccount()
  await fundFromFaucet({ dataDir: up.folder, address, amountMicroUsd: 1n })
  return address
}

test.each(['Base', 'Solana'] as const)('%s: shown, confirmed, sent, in the receipts', async rail => {
  const to = await recipientOn(rail)
  const before = await balanceOf(to)
  const sent = await run(['send', to, '5.5'], [confirmed('5.50', to), passphrase])
  expect(sent).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Sent: 5\.50 USD to .*, transaction \w+\n$/) })
  expect(sent.stderr).toContain(`to      ${to}`)
  expect(sent.stderr).not.toContain(passphrase)
  expect(await balanceOf(to)).toBe(before + 5_500_000n)
  const { stdout } = await run(['receipts', '--json'], null)
  const receipts = JSON.parse(stdout) as { kind: string; payTo?: string; state: string }[]
  expect(receipts.filter(({ kind, payTo }) => kind === 'send' && payTo === to)).toMatchObject([{ state: 'confirmed' }])
})

const refused: [why: string, typed: string[] | null, says: string][] = [
  ['without a terminal', null, 'needs a terminal'],
  ['without the confirmation', ['yes'], 'Nothing was sent'],
  ['with another amount confirmed', ['6.00 LAST'], 'Nothing was sent'],
  ['with a wrong passphrase', ['5.00 LAST', 'not the passphrase'], 'passphrase'],
]

test.each(refused)('%s nothing is signed', async (_, typed, says) => {
  const to = newAccount().address
  const lines = typed?.map(line => line.replace('LAST', to.slice(-6))) ?? null
  const ended = await run(['send', to, '5'], lines)
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(says) })
  const { stdout } = await run(['receipts', '--json'], null)
  expect(stdout).not.toContain(to)
})

test('a key of the environment in the folder of an encrypted wallet takes that wallet’s passphrase', async () => {
  const { wallet: plain } = await loadLocalKeys(up.folder)
  const to = newAccount().address
  const env = { FAREBOX_BASE_URL: up.baseUrl, FAREBOX_WALLET_KEY: plain.privateKey }
  const typed = [confirmed('5.00', to), 'not the passphrase']
  const ended = await atTerminal(['send', to, '5', '--data', folder], typed, env)
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('passphrase') })
  expect(await balanceOf(to)).toBe(0n)
})

test('the service’s own address and the wallet’s own are refused', async () => {
  const { payee } = await loadLocalKeys(up.folder)
  const { payee: solanaPayee } = await loadLocalSolanaKeys(up.folder)
  const env = { FAREBOX_BASE_URL: up.baseUrl, FAREBOX_PAYEE: `${payee.address},${solanaPayee.address}` }
  for (const to of [payee.address, solanaPayee.address, wallet.address, wallet.solanaAddress]) {
    const ended = await atTerminal(['send', to, '5', '--data', folder], [], env)
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was signed') })
  }
})

test('what is printed waits in the status and in the doctor, and the same command prints it again', async () => {
  const to = newAccount().address
  const typed = [confirmed('1.00', to), passphrase]
  const printed = await run(['send', to, '1', '--print'], typed)
  expect(printed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/transferWithAuthorization[\s\S]*\nnonce +0x\w{64}\n/),
  })
  expect((await run(['send', to, '1', '--print'], typed)).stdout).toBe(printed.stdout)
  expect((await run(['status'], null)).stdout).toContain(`1.00 USD to ${to}`)
  const doctor = await typedInto(['doctor', '--assistant', '--data', folder], null, { FAREBOX_BASE_URL: up.baseUrl })
  expect(doctor.stdout).toContain('transfers: The transfer send_')
  // It is settled by the local chain after all: the same authorization, once.
  const sent = await run(['send', to, '1'], typed)
  expect(sent).toMatchObject({ code: 0, stderr: expect.stringContaining('It will be continued') })
  expect(await balanceOf(to)).toBe(1_000_000n)
  expect((await run(['status'], null)).stdout).not.toContain(to)
})

describe('on the wallet’s page', () => {
  /** `farebox wallet open`, and the browser that spent its link. */
  async function pageOf() {
    const stop = new AbortController()
    let out = ''
    const printed = (text: string) => {
      out += text
    }
    const args = ['wallet', 'open', '--no-browser', '--data', folder]
    const env = { FAREBOX_BASE_URL: up.baseUrl }
    const command = typedInto(args, [passphrase], env, { signal: stop.signal, printed })
    onTestFinished(async () => {
      stop.abort()
      await command
    })
    const link = await vi.waitUntil(() => /http:\S+/.exec(out)?.[0], { timeout: 30_000 })
    const { ask } = await visit(link)
    return (path: string, form: object) => ask(`POST /api/${path}`, form)
  }

  test.each(['Base', 'Solana'] as const)('%s: planned, confirmed and sent once', async rail => {
    const to = await recipientOn(rail)
    const before = await balanceOf(to)
    const post = await pageOf()
    const plan = await post('send/plan', { to, amount: '1.25', facilitator: '' })
    expect(plan.json).toMatchObject({
      to,
      usd: '1.250000',
      isRepeated: false,
      through: expect.stringContaining('local'),
    })
    expect(await balanceOf(to)).toBe(before)
    const { usd } = plan.json
    const sent = await post('send', { to, usd, facilitator: '', ending: to.slice(-6), passphrase })
    expect([sent.status, sent.json.said]).toEqual([
      200,
      expect.stringMatching(/^Sent: 1\.25 USD to .*, transaction \w+\.$/),
    ])
    expect(await balanceOf(to)).toBe(before + 1_250_000n)
    const { stdout } = await run(['receipts', '--json'], null)
    const receipts = JSON.parse(stdout) as { kind: string; payTo?: string; state: string }[]
    expect(receipts.filter(({ kind, payTo }) => kind === 'send' && payTo === to)).toMatchObject([
      { state: 'confirmed' },
    ])
  })

  const misused: [why: string, change: Record<string, unknown>, says: RegExp][] = [
    ['a wrong passphrase', { passphrase: 'not the passphrase' }, /passphrase/],
    ['no passphrase', { passphrase: '' }, /passphrase/],
    ['another end of the address', { ending: '000000' }, /Nothing was sent/],
    ['no end of the address', { ending: '' }, /Nothing was sent/],
    ['`all`, whose amount was not shown', { usd: 'all' }, /incomplete/],
    ['an amount beyond the balance', { usd: '999.000000' }, /holds/],
    ['an amount below zero', { usd: '-1.000000' }, /incomplete/],
    ['a field that is not text', { passphrase: 7 }, /incomplete/],
    ['a facilitator without TLS', { facilitator: 'http://facilitator.example' }, /facilitator/i],
  ]

  test('nothing is signed with any wrong form', async () => {
    const post = await pageOf()
    for (const [why, change, says] of misused) {
      const to = newAccount().address
      const form = { to, usd: '1.000000', facilitator: '', ending: to.slice(-6), passphrase, ...change }
      const { status, json } = await post('send', form)
      expect([why, status, `${json.happened} ${json.next}`]).toEqual([why, 409, expect.stringMatching(says)])
      expect(await balanceOf(to)).toBe(0n)
      expect((await run(['receipts', '--json'], null)).stdout).not.toContain(to)
    }
  })

  test('a stopped wallet sends nothing', async () => {
    const to = newAccount().address
    const post = await pageOf()
    await post('stop', {})
    const form = { to, usd: '1.000000', facilitator: '', ending: to.slice(-6), passphrase }
    expect([(await post('send/plan', { to, amount: '1' })).status, (await post('send', form)).status]).toEqual([
      409, 409,
    ])
    await post('start', { passphrase })
    expect(await balanceOf(to)).toBe(0n)
  })
})

import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { exportKeyFile } from '#wallet/keys/key-file.ts'
import { payTo, pretendService } from '../agent/pretend-service.ts'
import { launcher } from '../build/built-product.ts'
import { temporaryFolder } from '../wallet/sample-wallet.ts'

/** Keys pass through every command that meets them, and are found nowhere but in their own file. */

const passphrase = 'canary in a coal mine'
/** Everything that was said on the way. */
const heard: string[] = []
let canaries: string[]
let service: Awaited<ReturnType<typeof pretendService>>
let env: Record<string, string>
let data: string
let file: string
let keys: { evm: string; solana: string }

async function run(args: readonly string[], more: Record<string, string> = {}): Promise<number | null> {
  const child = spawn(process.execPath, [launcher, ...args], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise<number | null>(resolve => child.on('close', resolve))
  heard.push(...(await Promise.all([text(child.stdout), text(child.stderr)])))
  return code
}

beforeAll(async () => {
  service = await pretendService()
  const home = temporaryFolder()
  data = join(home, 'wallet')
  file = join(home, 'passphrase')
  writeFileSync(file, `${passphrase}\n`, { mode: 0o600 })
  env = {
    PATH: '',
    HOME: home,
    FAREBOX_BASE_URL: service.baseUrl,
    FAREBOX_DATA: data,
    FAREBOX_PAYEE: payTo,
    FAREBOX_DEBUG: '1',
  }
  expect(await run(['wallet', 'create', '--passphrase-file', file])).toBe(0)
  const exported = await exportKeyFile(data, passphrase)
  keys = { evm: exported?.evm ?? '', solana: exported?.solana ?? '' }
  const evm = Buffer.from(keys.evm.slice(2), 'hex')
  const seed = Buffer.from(decodeBase58(keys.solana, 64) ?? []).subarray(0, 32)
  const forms = [evm, seed].flatMap(key => [key.toString('hex'), key.toString('base64'), key.toString('latin1')])
  // A part of it is as bad as the whole.
  canaries = [...forms, keys.solana].map(form => form.slice(0, 16)).concat(passphrase)
}, 60_000)
afterAll(() => service.close())

const found = (where: readonly string[]): string[] =>
  where.flatMap(said => canaries.filter(canary => said.includes(canary) || said.toLowerCase().includes(canary)))

/** The command lines of a process and of all that it has started. */
function commandLines(pid: number): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return [readFileSync(`/proc/${pid}/cmdline`, 'utf8'), ...children.flatMap(child => commandLines(Number(child)))]
}

async function serve(flags: readonly string[], more: Record<string, string>): Promise<void> {
  const transport = new StdioClientTransport({
    ...{ command: process.execPath, args: [launcher, 'mcp', ...flags], env: { ...env, ...more }, stderr: 'pipe' },
  })
  const stderr: Buffer[] = []
  transport.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk))
  const client = new Client({ name: 'canary', version: '1' }, { capabilities: {} })
  await client.connect(transport)
  for (const [name, args] of [
    ['wallet_status', {}],
    ['chat', { model: 'm', prompt: 'x' }],
    ['wallet_top_up', { amount_usd: 5 }],
    ['wallet_receipts', {}],
  ] as const)
    heard.push(JSON.stringify(await client.callTool({ name, arguments: args })))
  if (process.platform === 'linux') heard.push(...commandLines(transport.pid ?? process.pid))
  await client.close()
  heard.push(Buffer.concat(stderr).toString())
}

test('keys are found in no output, error, log or command line, and in no file', async () => {
  const wrong = join(data, '..', 'wrong')
  writeFileSync(wrong, 'another passphrase\n', { mode: 0o600 })
  await serve(['--passphrase-file', file], {})
  await serve(['--passphrase-file', wrong], {})
  await serve([], {
    FAREBOX_WALLET_KEY: keys.evm,
    FAREBOX_SOLANA_KEY: keys.solana,
    FAREBOX_DATA: join(data, '..', 'env'),
  })
  for (const word of [['status'], ['status', '--json'], ['address', '--qr'], ['receipts', '--json'], ['export']])
    await run(['wallet', ...word])
  expect(await run(['mcp'], { FAREBOX_WALLET_KEY: `${keys.evm}ff` })).toBe(2)
  expect(await run(['mcp'], { FAREBOX_SOLANA_KEY: keys.evm })).toBe(2)
  expect(await run(['wallet', 'status'], { FAREBOX_WALLET_KEY: `${keys.evm}ff` })).toBe(1)
  expect(await run(['wallet', 'status'], { FAREBOX_SOLANA_KEY: `${keys.solana.slice(0, -1)}1` })).toBe(1)
  const broken = join(data, 'wallet.json')
  const whole = readFileSync(broken, 'utf8')
  writeFileSync(broken, whole.slice(0, -20))
  expect(await run(['wallet', 'status'])).toBe(1)
  writeFileSync(broken, whole)
  expect(heard.join('')).toContain('"pays":"wallet"')
  expect(found(heard)).toEqual([])
  const files = readdirSync(join(data, '..'), { recursive: true, encoding: 'utf8' })
    .map(name => join(data, '..', name))
    .filter(path => path !== file && statSync(path).isFile())
  expect(files.length).toBeGreaterThan(2)
  expect(found(files.map(path => readFileSync(path, 'latin1')))).toEqual([])
}, 120_000)

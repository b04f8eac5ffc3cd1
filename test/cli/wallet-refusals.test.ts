import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyMessage } from 'viem'
import { beforeEach, expect, test, vi } from 'vitest'
import type { SignedRefusal } from '#agent/wallet/owner-wallet.ts'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { attacker, fakeService, option, order, origin, sampleWallet, secret } from '../wallet/sample-wallet.ts'
import { atTerminal as run } from './at-terminal.ts'

/** Each step is a commit that is synced, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

const env = { FAREBOX_WALLET_KEY: secret }
const call = { operation: 'createChatCompletion', requestHash: 'ab'.repeat(32) }

let folder: string
let address: string
beforeEach(async () => {
  const sample = await sampleWallet({ maxPaymentUsd: '6' })
  const { send } = fakeService(sample.wallet.address)
  const refused = (changes: Parameters<typeof order>[0]) =>
    expect(sample.wallet.pay(order({ call, ...changes }), send)).rejects.toThrow()
  for (let time = 0; time < 3; time++) await refused({ amountMicroUsd: 7_000_000n as never })
  sample.clock.advance(1_000)
  await refused({ accepts: [option({ asset: attacker })], call: { ...call, operation: '=1+1' } })
  ;({ folder } = sample)
  ;({ address } = sample.wallet)
  return sample.dispose
})

const receipts = (args: string[], typed: string[] | null = null, environment: NodeJS.ProcessEnv = {}) =>
  run(['receipts', '--refused', ...args, '--data', folder], typed, environment)
const asJson = async (...rest: [string[], (string[] | null)?, NodeJS.ProcessEnv?]) => {
  const { stdout, stderr } = await receipts(...rest)
  return { stderr, rows: JSON.parse(stdout) as SignedRefusal[] }
}

test('as lines, newest first, each with its sentence', async () => {
  expect((await receipts([])).stdout.trim().split('\n')).toEqual([
    `2026-11-21T00:00:01.000Z  refused  5.00 USD  asset  ${origin}  =1+1  The wallet does not accept this offer of the service: it is for a token that is not allowed.`,
    `2026-11-21T00:00:00.000Z  refused  7.00 USD  max-payment  ${origin}  createChatCompletion  3 times  7.00 USD is more than the cap on one payment, 6.00 USD.`,
  ])
  expect((await run(['receipts', '--data', folder], null, env)).stdout).toBe('The wallet has not paid anything yet.\n')
})

test('as CSV, where no word is a formula', async () => {
  const [head, first, second] = (await receipts(['--csv'])).stdout.trimEnd().split('\r\n')
  expect(head).toBe(
    'first,last,times,rule,amount_usd,limit_usd,left_usd,service,operation,network,asset,payee,wallet,request,id,said',
  )
  expect(first).toContain(`,asset,5.000000,,,${origin},'=1+1,eip155:8453,${attacker},`)
  expect(second).toContain(`,3,max-payment,7.000000,6.000000,,${origin},createChatCompletion,,,,${address},`)
})

test('as JSON with a statement that can be verified', async () => {
  const { rows, stderr } = await asJson(['--json'], null, env)
  expect(stderr).toBe('')
  expect(rows.map(({ rule, times }) => [rule, times])).toEqual([
    ['asset', 1],
    ['max-payment', 3],
  ])
  for (const { statement, scheme, signature, id } of rows) {
    expect([scheme, statement.includes(`Refusal: ${id}\n`)]).toEqual(['eip191', true])
    const signed = { address: address as `0x${string}`, message: statement, signature: signature as `0x${string}` }
    expect(await verifyMessage(signed)).toBe(true)
  }
})

test('a wallet that is switched off signs its statements all the same', async () => {
  await run(['stop', '--data', folder])
  expect((await asJson(['--json'], null, env)).rows.every(({ signature }) => signature !== null)).toBe(true)
})

test('without the key they are there, unsigned, and how to sign them is said', async () => {
  const { rows, stderr } = await asJson(['--json'])
  expect(rows.map(({ signature }) => signature)).toEqual([null, null])
  expect(stderr).toContain('--passphrase-file')
})

test('the key of an encrypted wallet opens by its passphrase, and signs for no other wallet', async () => {
  await createKeyFile(folder, canaryPassphrase)
  const file = join(folder, 'passphrase')
  await writeFile(file, `${canaryPassphrase}\n`, { mode: 0o600 })
  const ways: [string[], string[] | null][] = [
    [['--json', '--passphrase-file', file], null],
    [['--json'], [canaryPassphrase]],
  ]
  // Its keys are new, and the refusals another wallet's.
  for (const [args, typed] of ways)
    expect((await asJson(args, typed)).rows.map(({ signature }) => signature)).toEqual([null, null])
  expect(await receipts(['--json'], ['not the passphrase'])).toMatchObject({ code: 1, stdout: '' })
})

import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nextSteps } from '#cli/wallet/create-wallet.ts'
import { systemClock } from '#contract/time.ts'
import { solanaNetwork, tokenName, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import { createKeyFile, unlockKeyFile } from '#wallet/keys/key-file.ts'
import { sameRefusalMs } from '#wallet/limits.ts'
import { openState } from '#wallet/records/state.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { localServer } from '../local-server.ts'
import {
  attacker,
  fakeClock,
  fakeService,
  option,
  order,
  origin,
  payTo,
  sampleWallet,
  secret,
  temporaryFolder,
  usd,
} from '../wallet/sample-wallet.ts'
import { atTerminal as run } from './at-terminal.ts'

const passphrase = canaryPassphrase

function passphraseFile(text = `${passphrase}\n`): string {
  const path = join(temporaryFolder(), 'passphrase')
  writeFileSync(path, text, { mode: 0o600 })
  const descriptor = openSync(path, 'r')
  onTestFinished(() => closeSync(descriptor))
  return `--passphrase-fd=${descriptor}`
}

async function service(status: number, body: unknown): Promise<string> {
  const server = await localServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', location: 'https://evil.example/' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  onTestFinished(server.close)
  return `${server.url}/api/v1`
}

const offer = { x402Version: 2, accepts: [option(), option({ network: 'eip155:1', payTo: attacker })] }

test('create makes an encrypted wallet that pays where the service wants it', async () => {
  const data = join(temporaryFolder(), 'agent')
  const url = await service(402, offer)
  const made = await run(['create', '--service', url, '--data', data, passphraseFile()])
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^0x[0-9a-fA-F]{40}\n[1-9A-HJ-NP-Za-km-z]{32,44}\n$/),
  })
  expect(made.stderr).toContain(`accepts payments at ${payTo}, in USDC on Base.`)
  expect(made.stderr).not.toContain(attacker)
  expect(made.stderr).toContain('do not send it real USDC')
  const keys = await unlockKeyFile(data, passphrase)
  expect(keys?.map(key => `${key.address}\n`).join('')).toBe(made.stdout)
  expect((await run(['address', '--data', data])).stdout).toBe(made.stdout)
  const status = await run(['status', '--data', data], null, { FAREBOX_BASE_URL: url, FAREBOX_MAX_DAY_USD: '7' })
  expect(status.stdout).toContain(`may pay: ${payTo}, in USDC on Base`)
  expect(status.stdout).toContain('0.00 USD of 7.00 USD')
  expect(status.stdout).toContain(`service: ${new URL(url).origin} (set by FAREBOX_BASE_URL)\n`)
  const unset = await run(['status', '--data', data])
  expect(unset.stdout).toContain(`service: ${new URL(url).origin} (the service that the wallet was created for)\n`)
  const other = await run(['status', '--data', data], null, { FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1' })
  expect(other.stdout).toContain(`may also be paid: ${new URL(url).origin};`)
  const none = await run(['status', '--data', temporaryFolder()], null, { FAREBOX_WALLET_KEY: secret })
  expect(none.stdout).toContain('service: http://127.0.0.1:8402 (the default, ')
  const again = await run(['create', '--data', data, passphraseFile()])
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('already') })
})

test.each([
  [{ network: 'eip155:8453', asset: usdcOnEvm.toLowerCase() }, 'USDC on Base'],
  [{ network: solanaNetwork, asset: usdcOnSolana }, 'USDC on Solana'],
  [{ network: 'eip155:1', asset: usdcOnEvm }, `the token ${usdcOnEvm} on eip155:1`],
  [{ network: solanaNetwork, asset: usdcOnSolana.toLowerCase() }, /^the token epjf/],
])('a token is called by its name where it is just that one: %o', (token, name) => {
  expect(tokenName(token)).toMatch(name)
})

test('create says what to fund, how the assistant opens it, and where to look', async () => {
  const data = temporaryFolder()
  const made = await run(['create', '--data', data, passphraseFile()])
  const [base, solana] = made.stdout.trim().split('\n')
  expect(made.stderr.trim().split('\n').slice(-3)).toEqual([
    expect.stringMatching(`^1. .*to ${base} on Base .eip155:8453, token 0x.*or to ${solana} on Solana .token `),
    expect.stringContaining(`\`farebox install CLIENT --service URL --passphrase-file FILE --data '${data}'\``),
    expect.stringContaining(`\`farebox wallet status --data '${data}'\``),
  ])
})

test.each([
  ['only the rails that the service is paid on', { networks: ['eip155:8453'] }, /on Base[^;]*\)\./],
  [
    'local money for a service of this machine',
    { service: 'http://127.0.0.1:1/api/v1' },
    /with test money: `farebox local fund 0xa --usd 10 --data FOLDER`.*do not send it real USDC/,
  ],
  ['which address to fund first', { networks: [] }, /fund Base first/],
  [
    'no passphrase where a keychain has it',
    { isInKeychain: true },
    /`farebox install CLIENT --service URL`\. .*keychain/,
  ],
  [
    'the file that the passphrase is in',
    { passphraseFile: '/a b/passphrase' },
    /`farebox install CLIENT --service URL --passphrase-file '\/a b\/passphrase'`/,
  ],
  [
    'no service that the wallet already has',
    { service: 'https://x.example/api/v1' },
    /install CLIENT --passphrase-file FILE`/,
  ],
])('the next steps name %s', (_, changes, says) => {
  const usual = { address: '0xa', solanaAddress: 's', service: undefined, networks: [] }
  const said = nextSteps({ ...usual, isInKeychain: false, ...changes }).join('\n')
  expect(said).toMatch(says)
  expect(said.includes('passphrase')).toBe(!('isInKeychain' in changes))
})

test('create asks at a terminal, shows the payee, and hides the passphrase', async () => {
  const data = temporaryFolder()
  const url = await service(402, offer)
  const made = await run(['create', '--service', url, '--data', data], ['yes', passphrase, passphrase])
  expect(made.code).toBe(0)
  expect(`${made.stdout}${made.stderr}`).not.toContain(passphrase)
  expect((await unlockKeyFile(data, passphrase))?.map(key => key.address)).toEqual(made.stdout.trim().split('\n'))
})

test('create says that there is a wallet before it asks anything', async () => {
  const data = temporaryFolder()
  await createKeyFile(data, passphrase)
  const before = readFileSync(join(data, 'wallet.json'), 'utf8')
  const made = await run(['create', '--service', await service(402, offer), '--data', data], [])
  expect(made).toMatchObject({ code: 1, stdout: '' })
  expect(made.stderr).toMatch(/^There is already a wallet in \S+\. Use it, move the file away/)
  expect(readFileSync(join(data, 'wallet.json'), 'utf8')).toBe(before)
})

const failures: [what: string, answer: [number, unknown], args: string[], typed: string[] | null, said: RegExp][] = [
  ['the user says no', [402, offer], [], ['no'], /No wallet was created/],
  ['the passphrases differ', [402, offer], [], ['yes', passphrase, 'another passphrase'], /differ/],
  ['it is not a service', [200, {}], [], ['yes'], /is not a service with this API/],
  ['the answer is not JSON', [402, '<html>'], [], ['yes'], /is not a service with this API/],
  ['it redirects', [307, ''], [], ['yes'], /cannot be reached/],
  ['the answer has no end', [402, 'x'.repeat(100_000)], [], ['yes'], /is not a service with this API/],
  [
    'cannot be paid',
    [402, { x402Version: 2, accepts: [] }],
    [],
    ['yes'],
    /no payment option that this wallet supports/,
  ],
  ['there is no one to ask', [402, offer], [], null, /needs a terminal/],
]

test.each(failures)('create makes nothing where %s', async (_, [status, body], args, typed, said) => {
  const data = temporaryFolder()
  const made = await run(['create', '--service', await service(status, body), '--data', data, ...args], typed)
  expect(made).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(said) })
  expect(existsSync(join(data, 'wallet.json'))).toBe(false)
})

test('the key of the environment is never printed', async () => {
  const env = { FAREBOX_WALLET_KEY: `0x${secret}`, FAREBOX_DATA: temporaryFolder() }
  for (const args of [['address'], ['status'], ['status', '--json'], ['receipts'], ['receipts', '--json']]) {
    const { code, stdout, stderr } = await run(args, null, env)
    expect(code).toBe(0)
    expect(`${stdout}${stderr}`).not.toContain(secret.slice(0, 16))
  }
  const wrong = await run(['address'], null, { ...env, FAREBOX_WALLET_KEY: `${secret}ff` })
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('not an EVM private key') })
  expect(wrong.stderr).not.toContain(secret.slice(0, 16))
})

/** A service and a node of Base, which say how much there is. */
async function fundedWorld() {
  const asked: string[] = []
  const server = await localServer((request, response) => {
    asked.push(request.url ?? '')
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => response.end(JSON.stringify(answerOf(request.url ?? '', body))))
  })
  onTestFinished(server.close)
  const { url } = server
  return { asked, env: { FAREBOX_BASE_URL: `${url}/api/v1`, FAREBOX_EVM_RPC_URL: `${url}/node` } }
}

function answerOf(url: string, body: string): object {
  if (url === '/node') {
    const { id, method } = JSON.parse(body)
    return {
      jsonrpc: '2.0',
      id,
      result: method === 'eth_chainId' ? '0x2105' : `0x${(7_250_000).toString(16).padStart(64, '0')}`,
    }
  }
  const [, walletAddress] = /x402\/balance\/(0x\w+)/.exec(url) ?? []
  const data = { walletAddress, balanceUsd: 1.5, canConsume: true, minimumTopUpUsd: 5, suggestedTopUpUsd: 10 }
  return walletAddress === undefined ? {} : { success: true, data }
}

test('status shows the balance on the chain and the credit at the service', async () => {
  const { env } = await fundedWorld()
  const given = { ...env, FAREBOX_WALLET_KEY: secret, FAREBOX_DATA: temporaryFolder() }
  const { stdout } = await run(['status'], null, given)
  expect(stdout).toMatch(/^wallet: 0x\w+ on Base, balance 7\.25 USD$/m)
  expect(stdout).toContain('\ncredit at the service: 1.50 USD\n')
  const json = JSON.parse((await run(['status', '--json'], null, given)).stdout)
  expect(json).toMatchObject({ creditMicroUsd: '1500000', onChain: [{ amountMicroUsd: '7250000', unknown: null }] })
  expect((await run(['status'], null, { ...given, FAREBOX_API_KEY: 'a-key' })).stdout).toContain(' 1.50 USD\n')
})

test('status says why a balance or the credit is unknown, and that a passphrase shows the credit', async () => {
  const { env, asked } = await fundedWorld()
  const data = temporaryFolder()
  await run(['create', '--data', data, passphraseFile()])
  const locked = (await run(['status', '--data', data], null, env)).stdout
  expect(locked).toMatch(/^credit at the service: unknown \(.*--passphrase-file FILE/m)
  expect(locked).toMatch(/^wallet: 0x\w+ on Base, balance 7\.25 USD$/m)
  expect(locked).toMatch(/^wallet: \w+ on Solana, balance unknown \(.*no node/m)
  expect(asked.filter(url => url.includes('balance'))).toEqual([])
  const open = (await run(['status', '--data', data, passphraseFile()], null, env)).stdout
  expect(open).toContain('credit at the service: 1.50 USD')
  const wrong = (await run(['status', '--data', data, passphraseFile('wrong')], null, env)).stdout
  expect(wrong).toMatch(/on Base, balance 7\.25 USD\n[\s\S]*credit at the service: unknown \(.*passphrase/)
  const away = { ...env, FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1', FAREBOX_EVM_RPC_URL: 'http://127.0.0.1:9' }
  const alone = await run(['status', '--data', data, passphraseFile()], null, away)
  expect(alone.code).toBe(0)
  expect(alone.stdout).toMatch(/on Base, balance unknown \(.*node.*\)$/m)
  expect(alone.stdout).toMatch(/^credit at the service: unknown \(.+\)$/m)
})

test('resolve takes the passphrase of a wallet with a key file', async () => {
  const { wallet, folder, dispose } = await sampleWallet({}, { clock: fakeClock(Date.now() - 3_600_000) })
  await createKeyFile(folder, passphrase)
  await wallet.pay(order(), fakeService(wallet.address, 'lose before').send).catch(() => undefined)
  const args = ['resolve', (await wallet.receipts(1))[0]?.id ?? '', '--data', folder]
  expect(await run(args, ['stayed', 'not the passphrase'])).toMatchObject({ code: 1 })
  expect(await wallet.receipts(1)).toMatchObject([{ state: 'unknown', counts: true }])
  expect(await run(args, ['stayed', passphrase])).toMatchObject({ code: 0 })
  expect(await wallet.receipts(1)).toMatchObject([{ state: 'dead', counts: false }])
  dispose()
})

test.each([
  ['left', true, 0],
  ['stayed', false, 0],
  ['perhaps', true, 1],
])('resolve with %s', async (typed, counts, code) => {
  // The command lives in the present, an hour after the payment.
  const { wallet, folder, dispose } = await sampleWallet({}, { clock: fakeClock(Date.now() - 3_600_000) })
  const service = fakeService(wallet.address, 'lose before')
  await wallet.pay(order(), service.send).catch(error => expect(error.nextStep).toContain('wallet resolve pay_'))
  const [payment] = await wallet.receipts(1)
  const args = ['resolve', payment?.id ?? '', '--data', folder]
  const resolved = await run(args, [typed])
  expect(resolved.code).toBe(code)
  expect(await wallet.receipts(1)).toMatchObject([{ state: code === 0 ? 'dead' : 'unknown', counts }])
  expect((await run(args)).stderr).toContain('needs a terminal')
  dispose()
})

test('status says how credit is refilled, and what has become of it', async () => {
  const settings = { refillBelowUsd: '1', refillByUsd: '5', askAboveUsd: '9' }
  const { wallet, folder, clock, dispose } = await sampleWallet(settings)
  onTestFinished(dispose)
  const env = {
    ...{ FAREBOX_WALLET_KEY: secret, FAREBOX_BASE_URL: `${origin}/api/v1` },
    ...{ FAREBOX_REFILL_BELOW_USD: '1', FAREBOX_REFILL_BY_USD: '5' },
  }
  const status = async () => (await run(['status', '--data', folder], null, env)).stdout
  expect(await status()).toContain('\ntops up by 5.00 USD when the credit is below 1.00 USD\n')
  const see = () =>
    wallet.refill(
      { balanceMicroUsd: usd(0.2), agoMs: () => 0 },
      async () => ({ accepts: [option()] }),
      fakeService(wallet.address, 'credit').send,
    )
  await see()
  clock.advance(1)
  await see()
  expect(await status()).toMatch(
    /below 1\.00 USD; refills have stopped: the refill pay_\S+ of 5\.00 USD did not show .*start --data '[^']+'` to resume them\n/,
  )
  await run(['start', '--data', folder], [])
  expect(await status()).toContain('\ntops up by 5.00 USD when the credit is below 1.00 USD\n')
  expect((await run(['status', '--data', folder], null, { FAREBOX_WALLET_KEY: secret })).stdout).not.toContain(
    'refills',
  )
})

test('status says until when a refused refill waits', async () => {
  const settings = { refillBelowUsd: '1', refillByUsd: '5', askAboveUsd: '9', maxPaymentUsd: '5', maxDayUsd: '1' }
  const clock = fakeClock(Date.now())
  const { wallet, folder, dispose } = await sampleWallet(settings, { clock })
  onTestFinished(dispose)
  const seen = { balanceMicroUsd: usd(0.2), agoMs: () => 0 }
  await wallet.refill(seen, async () => ({ accepts: [option()] }), fakeService(wallet.address, 'credit').send)
  const env = {
    ...{ FAREBOX_WALLET_KEY: secret, FAREBOX_BASE_URL: `${origin}/api/v1` },
    ...{ FAREBOX_REFILL_BELOW_USD: '1', FAREBOX_REFILL_BY_USD: '5' },
  }
  const { stdout } = await run(['status', '--data', folder], null, env)
  const again = new Date(clock.now() + sameRefusalMs).toISOString()
  expect(stdout).toContain('the last one failed: 5.00 USD more would exceed the cap')
  expect(stdout).toContain(`The next one is possible after ${again}\n`)
})

test('a misspelled cap is refused by every command but the one that stops', async () => {
  const folder = temporaryFolder()
  const env = { FAREBOX_WALLET_KEY: secret, FAREBOX_MAX_DAILY_USD: '1' }
  const refused = await run(['status', '--data', folder], null, env)
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('FAREBOX_MAX_DAILY_USD is not a setting.') })
  expect((await run(['stop', '--data', folder], null, env)).code).toBe(0)
})

test('status says what still counts against the caps, and what to do', async () => {
  const clock = fakeClock(Date.now() - 3_600_000)
  const { wallet, folder, dispose } = await sampleWallet({}, { clock })
  const { send } = fakeService(wallet.address, 'reject')
  const status = async () => (await run(['status', '--data', folder], null, { FAREBOX_WALLET_KEY: secret })).stdout
  await wallet.pay(order(), send).catch(() => undefined)
  const id = (await wallet.receipts(1))[0]?.id ?? ''
  expect(await status()).toContain(`could still be collected: ${id}, 5.00 USD`)
  clock.advance(1_000_000)
  await wallet.recover(send)
  expect(await status()).toMatch(
    new RegExp(`still counts against the caps: ${id}, 5.00 USD; .*farebox wallet resolve ${id}`),
  )
  await run(['resolve', id, '--data', folder], ['stayed'])
  expect(await status()).not.toContain(id)
  dispose()
})

test('a payment is resolved however many were made since', async () => {
  const { wallet, folder, dispose } = await sampleWallet({}, { clock: fakeClock(Date.now() - 3_600_000) })
  await wallet.pay(order(), fakeService(wallet.address, 'lose before').send).catch(() => undefined)
  const id = (await wallet.receipts(1))[0]?.id ?? ''
  const state = openState(folder)
  state.database().exec(`INSERT INTO payments (id, state, counts, occasion, purpose, address, origin, network, asset,
      pay_to, amount_micro_usd, created_at_ms, updated_at_ms)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
    SELECT 'later' || n, 'dead', 0, occasion, purpose, address, origin, network, asset, pay_to, amount_micro_usd,
      created_at_ms + n, updated_at_ms + n FROM numbers, payments`)
  state.close()
  expect(await run(['resolve', id, '--data', folder], ['stayed'])).toMatchObject({ code: 0 })
  expect((await run(['resolve', 'pay_none', '--data', folder], ['stayed'])).stderr).toContain(
    'There is no payment pay_none',
  )
  dispose()
})

test('resolve takes no word on a payment that can still be collected', async () => {
  const { wallet, folder, dispose } = await sampleWallet({}, { clock: systemClock })
  await wallet.pay(order(), fakeService(wallet.address, 'lose before').send).catch(() => undefined)
  const [payment] = await wallet.receipts(1)
  const resolved = await run(['resolve', payment?.id ?? '', '--data', folder], ['stayed'])
  expect(resolved).toMatchObject({ code: 1, stderr: expect.stringContaining('could still be collected') })
  expect(await wallet.receipts(1)).toMatchObject([{ state: 'unknown', counts: true }])
  dispose()
})

test.each([[[]], [['--refused']]])(
  'receipts of a folder without a wallet and payments say that there is none: %j',
  async flags => {
    const nowhere = temporaryFolder()
    const { code, stdout, stderr } = await run(['receipts', ...flags, '--data', nowhere])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe((await run(['status', '--data', nowhere])).stderr)
    expect(stderr).toContain(`There is no wallet in ${nowhere}.`)
    expect(await run(['receipts', ...flags, '--json', '--data', nowhere])).toMatchObject({ code: 0, stdout: '[]\n' })
  },
)

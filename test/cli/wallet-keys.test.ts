import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encode } from 'uqr'
import { expect, test } from 'vitest'
import { createKeyFile, unlockKeyFile } from '#wallet/keys/key-file.ts'
import { keyFromHex, solanaKeyFrom } from '#wallet/keys/keys.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { secret, temporaryFolder } from '../wallet/sample-wallet.ts'
import { atTerminal } from './at-terminal.ts'

const passphrase = canaryPassphrase
const words = 'show my keys'

test('export shows keys that make the same addresses, to a user who knows the passphrase', async () => {
  const data = temporaryFolder()
  const { address, solanaAddress } = await createKeyFile(data, passphrase)
  const shown = await atTerminal(['export', '--data', data], [passphrase, words])
  expect(shown.code).toBe(0)
  const [, evm = '', solana = ''] = /^Base: {3}(\S+)\nSolana: (\S+)\n$/.exec(shown.stdout) ?? []
  expect((await keyFromHex(evm)).address).toBe(address)
  expect(solanaKeyFrom(solana).address).toBe(solanaAddress)
  expect(shown.stderr).not.toContain(evm.slice(2, 18))
})

test.each<[what: string, typed: string[] | null, isShown: boolean, said: RegExp]>([
  ['there is no terminal', null, true, /needs a terminal/],
  ['its output is read by a program', [passphrase, words], false, /only in a terminal/],
  ['the passphrase is wrong', ['wrong horse battery', words], true, /passphrase is wrong/],
  ['the user does not confirm', [passphrase, 'yes'], true, /Nothing was shown/],
])('export shows nothing where %s', async (_, typed, isShown, said) => {
  const data = temporaryFolder()
  await createKeyFile(data, passphrase)
  const shown = await atTerminal(['export', '--data', data], typed, {}, isShown)
  expect(shown).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(said) })
})

test('export does not repeat a key that the environment has', async () => {
  const env = { FAREBOX_WALLET_KEY: secret, FAREBOX_DATA: temporaryFolder() }
  const shown = await atTerminal(['export'], [passphrase, words], env)
  expect(shown).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('not encrypted by farebox') })
})

const next = `${canaryPassphrase} of the next year`

test('passphrase encrypts the same keys again: only the new one opens them', async () => {
  const data = temporaryFolder()
  const before = await createKeyFile(data, passphrase)
  const changed = await atTerminal(['passphrase', '--data', data], [passphrase, next, next])
  expect(changed).toMatchObject({ code: 0, stdout: expect.stringContaining(before.address) })
  expect((await unlockKeyFile(data, next))?.map(key => key.address)).toEqual([before.address, before.solanaAddress])
  await expect(unlockKeyFile(data, passphrase)).rejects.toThrow(/passphrase is wrong/)
  expect(readdirSync(data).filter(name => name.startsWith('wallet.json'))).toEqual(['wallet.json'])
  expect(statSync(join(data, 'wallet.json')).mode & 0o077).toBe(0)
})

test.each<[what: string, typed: string[] | null, said: RegExp]>([
  ['there is no terminal', null, /needs a terminal/],
  ['the present passphrase is wrong', ['wrong horse battery', next, next], /passphrase is wrong/],
  ['the new one is typed differently', [passphrase, next, `${next}!`], /differ/],
  ['the new one is short', [passphrase, 'short', 'short'], /characters/],
])('passphrase changes nothing where %s', async (_, typed, said) => {
  const data = temporaryFolder()
  await createKeyFile(data, passphrase)
  const before = readFileSync(join(data, 'wallet.json'), 'utf8')
  const changed = await atTerminal(['passphrase', '--data', data], typed)
  expect(changed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(said) })
  expect(readFileSync(join(data, 'wallet.json'), 'utf8')).toBe(before)
})

test('address shows a code for each rail, and what is in it', async () => {
  const data = temporaryFolder()
  const { address, solanaAddress } = await createKeyFile(data, passphrase)
  const onBase = `ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=${address}`
  const onSolana = `solana:${solanaAddress}?spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v`
  const { stdout } = await atTerminal(['address', '--qr', '--data', data])
  for (const uri of [onBase, onSolana]) {
    expect(stdout).toContain(uri)
    expect(modulesOf(stdout.split(`${uri}\n`)[1] ?? '', encode(uri, { border: 2 }).size)).toEqual(
      encode(uri, { border: 2 }).data,
    )
  }
  expect((await atTerminal(['address', '--rail', 'solana', '--data', data])).stdout).toBe(`${solanaAddress}\n`)
  expect((await atTerminal(['address', '--rail', 'base', '--data', data])).stdout).toBe(`${address}\n`)
  const wrong = await atTerminal(['address', '--rail', 'bitcoin', '--data', data])
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('`base` or `solana`') })
  const local = await atTerminal(['address', '--qr', '--data', data], null, { FAREBOX_BASE_URL: 'http://127.0.0.1:1' })
  expect(local.stderr).toContain('not send it real USDC')
})

/** Reads the printed code back: two modules a character, light ones are drawn. */
function modulesOf(printed: string, size: number): boolean[][] {
  const lines = printed.split('\n').slice(0, Math.ceil(size / 2))
  const halves: Record<string, [boolean, boolean]> = {
    '█': [false, false],
    '▀': [false, true],
    '▄': [true, false],
    ' ': [true, true],
  }
  const rows = lines.flatMap(line => {
    const columns = [...line].map(character => halves[character] ?? ([false, false] as [boolean, boolean]))
    return [columns.map(column => column[0]), columns.map(column => column[1])]
  })
  return rows.slice(0, size)
}

test('without a keychain, create --keychain says so and leaves no wallet', {
  tags: ['linux', 'no-desktop'],
}, async () => {
  const data = join(temporaryFolder(), 'agent')
  const made = await atTerminal(['create', '--keychain', '--data', data], [passphrase, passphrase])
  expect(made).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/system keychain is missing/),
  })
  expect(existsSync(join(data, 'wallet.json'))).toBe(false)
})

test('two ways for one passphrase are one too many, and a file is enough', async () => {
  const data = temporaryFolder()
  const file = join(data, 'passphrase')
  writeFileSync(file, `${passphrase}\n`, { mode: 0o600 })
  const both = await atTerminal(['create', '--passphrase-file', file, '--passphrase-fd', '0', '--data', data])
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('not both') })
  expect((await atTerminal(['create', '--passphrase-file', file, '--data', data])).code).toBe(0)
  expect(await unlockKeyFile(data, passphrase)).toHaveLength(2)
})

import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { privateKeyToAddress } from 'viem/accounts'
import { expect, test } from 'vitest'
import { chainFolderOf } from '#local/chain/folder.ts'
import { loadLocalKeys } from '#local/keys.ts'
import { temporaryDataDir } from './temporary-chain.ts'

test('three different keys are made once, for their owner alone', async () => {
  const dataDir = await temporaryDataDir()
  const folder = chainFolderOf(dataDir)
  const keys = await loadLocalKeys(dataDir)
  expect(new Set([keys.payee.address, keys.facilitator.address, keys.wallet.address]).size).toBe(3)
  for (const { privateKey, address } of Object.values(keys)) expect(privateKeyToAddress(privateKey)).toBe(address)
  expect(await loadLocalKeys(dataDir)).toEqual(keys)
  expect((await stat(folder.keys)).mode & 0o777).toBe(0o600)
  expect((await stat(folder.path)).mode & 0o777).toBe(0o700)
  expect(await readdir(folder.path)).toEqual(['keys.json'])
})

test('all who begin at once get the same keys', async () => {
  const dataDir = await temporaryDataDir()
  const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => loadLocalKeys(dataDir)))
  for (const other of others) expect(other).toEqual(first)
})

test('another folder has other keys', async () => {
  const [one, two] = [await loadLocalKeys(await temporaryDataDir()), await loadLocalKeys(await temporaryDataDir())]
  expect(one.wallet.address).not.toBe(two.wallet.address)
})

test.each([
  ['broken JSON', (text: string) => text.slice(0, 90)],
  ['a key missing', (text: string) => text.replace('"wallet"', '"purse"')],
  ['a key cut short', (text: string) => text.replace(/[0-9a-f]{2}"/, '"')],
  ['a key outside of the curve', (text: string) => text.replace(/0x[0-9a-f]{64}/, `0x${'f'.repeat(64)}`)],
])('a file with %s is refused without being shown or replaced', async (_what, spoil) => {
  const dataDir = await temporaryDataDir()
  const { wallet } = await loadLocalKeys(dataDir)
  const path = chainFolderOf(dataDir).keys
  const spoilt = spoil(await readFile(path, 'utf8'))
  await writeFile(path, spoilt)
  const error = await loadLocalKeys(dataDir).catch((caught: unknown) => caught as Error)
  expect(error).toMatchObject({ name: 'LocalChainError' })
  expect(String((error as Error).stack)).not.toContain(wallet.privateKey.slice(2, 20))
  expect(await readFile(path, 'utf8')).toBe(spoilt)
})

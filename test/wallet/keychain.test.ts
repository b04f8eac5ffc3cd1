import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { folderKeys } from '#agent/wallet/wallet-keys.ts'
import { createKeyFile, keyFileAddresses } from '#wallet/keys/key-file.ts'
import { type Keychain, systemKeychain } from '#wallet/keys/keychain.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { temporaryFolder } from './sample-wallet.ts'

const passphrase = canaryPassphrase
const service = 'https://service.example/api/v1'

function fakeKeychain(): Keychain & { entries: Map<string, string> } {
  const entries = new Map<string, string>()
  return {
    entries,
    read: async name => entries.get(name) ?? null,
    write: async (name, secret) => void entries.set(name, secret),
  }
}

test('keys in the keychain open without a passphrase, and with it they open without the keychain', async () => {
  const folder = temporaryFolder()
  const keychain = fakeKeychain()
  const { address, solanaAddress, path } = await createKeyFile(folder, passphrase, keychain)
  const addresses = [address, solanaAddress]
  expect([...keychain.entries.keys()]).toEqual([address])
  expect(readFileSync(path, 'utf8')).not.toContain(keychain.entries.get(address)?.slice(0, 16))
  const found = await folderKeys(folder, service, null, async () => keychain)
  expect(found.keys.map(key => key.address)).toEqual(addresses)
  const opened = await folderKeys(folder, service, passphrase, () => Promise.reject(new Error('is not asked')))
  expect(opened.keys.map(key => key.address)).toEqual(addresses)
})

test.each([
  ['nothing', undefined, /does not have the keys/],
  ['other keys', 'f0'.repeat(64), /does not contain its keys/],
  ['half of them', '1'.repeat(64), /does not contain its keys/],
  ['no keys', 'zz', /does not contain its keys/],
])('a keychain that holds %s is refused', async (_, held, said) => {
  const folder = temporaryFolder()
  const keychain = fakeKeychain()
  const { address } = await createKeyFile(folder, passphrase, keychain)
  if (held === undefined) keychain.entries.delete(address)
  else keychain.entries.set(address, held)
  await expect(folderKeys(folder, service, null, async () => keychain)).rejects.toThrow(said)
})

test('a keychain that keeps nothing leaves no wallet, and a wallet without one asks none', async () => {
  const folder = temporaryFolder()
  const broken: Keychain = { read: async () => null, write: () => Promise.reject(new Error('locked')) }
  await expect(createKeyFile(folder, passphrase, broken)).rejects.toThrow('locked')
  expect(keyFileAddresses(folder)).toBe(null)
  const { address } = await createKeyFile(folder, passphrase)
  const asked = () => Promise.reject(new Error('is not asked'))
  expect(await folderKeys(folder, service, null, asked)).toEqual({ keys: [], lockedWallet: address })
})

test('without the package the sentence says how to come by it', async () => {
  const missing = () => Promise.reject(new Error("Cannot find package '@napi-rs/keyring'"))
  await expect(systemKeychain(missing)).rejects.toThrow(/npm install @napi-rs\/keyring/)
})

test('a library that fails is told in our words, which repeat no secret', async () => {
  class Failing {
    getPassword = () => Promise.reject(new Error('the entry hunter2'))
    setPassword = (secret: string) => Promise.reject(new Error(`could not keep ${secret}`))
  }
  const keychain = await systemKeychain(async () => ({ AsyncEntry: Failing }))
  for (const work of [keychain.read('x'), keychain.write('x', 'hunter2')]) {
    const error = await work.catch(reason => reason)
    expect(error).toBeInstanceOf(WalletRefusal)
    expect(error.message).toMatch(/missing or locked.*--passphrase-file/)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2')
  }
})

test('on Linux only the Secret Service is asked: the keyring of the kernel forgets', async () => {
  const asked: unknown[] = []
  class Noting {
    constructor(...given: unknown[]) {
      asked.push(given)
    }
    getPassword = async () => null
    setPassword = async () => {}
  }
  const keychain = await systemKeychain(async () => ({ AsyncEntry: Noting }))
  expect(await keychain.read('0x1')).toBe(null)
  expect(asked).toEqual([['farebox', '0x1', { linux: { store: 'secret-service' } }]])
})

test('where no desktop runs, the library itself is refused', { tags: ['linux', 'no-desktop'] }, async () => {
  const keychain = await systemKeychain()
  await expect(keychain.read('farebox test')).rejects.toThrow(/system keychain is missing/)
})

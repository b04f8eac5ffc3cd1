import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, inspect } from 'node:util'
import { verifyMessage } from 'viem'
import { expect, test } from 'vitest'
import { readSignInHeader } from '#contract/sign-in.ts'
import { createKeyFile, keyFileAddress, unlockKeyFile } from '#wallet/key-file.ts'
import { keyFromHex } from '#wallet/keys.ts'
import { localKey } from '#wallet/local-key-file.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import { fakeService, order, sampleWallet, secret, temporaryFolder } from './sample-wallet.ts'

const passphrase = 'correct horse battery'

test('an encrypted key opens with its passphrase alone, and tells its address without', async () => {
  const folder = join(temporaryFolder(), 'deep')
  const { address, path } = await createKeyFile(folder, passphrase)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(keyFileAddress(folder)).toBe(address)
  expect((await unlockKeyFile(folder, passphrase))?.address).toBe(address)
  await expect(unlockKeyFile(folder, 'wrong horse battery')).rejects.toThrow(/does not open/)
  await expect(createKeyFile(folder, passphrase)).rejects.toThrow(/already/)
  const changed = readFileSync(path, 'utf8').replace(address, `0x${'1'.repeat(40)}`)
  writeFileSync(path, changed)
  await expect(unlockKeyFile(folder, passphrase)).rejects.toThrow(/does not open/)
})

test('a key that other users can read is refused', async () => {
  const folder = temporaryFolder()
  const { path } = await createKeyFile(folder, passphrase)
  chmodSync(path, 0o640)
  await expect(unlockKeyFile(folder, passphrase)).rejects.toThrow(/chmod 600/)
})

test.each([
  ['no key', 'wallet.json', '{"farebox":"wallet-key"}'],
  ['no JSON', 'wallet.json', 'x'],
  ['too long', 'wallet.json', ' '.repeat(5_000)],
])('a key file with %s is refused by its path', async (_, name, text) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, name), text, { mode: 0o600 })
  await expect(unlockKeyFile(folder, passphrase)).rejects.toThrow(WalletRefusal)
})

test('a key file cannot ask for more memory than ours do', async () => {
  const folder = temporaryFolder()
  const { path } = await createKeyFile(folder, passphrase)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"logN": 17', '"logN": 30'))
  await expect(unlockKeyFile(folder, passphrase)).rejects.toThrow(/no key file/)
})

test('a short passphrase is refused and writes nothing', async () => {
  const folder = temporaryFolder()
  await expect(createKeyFile(folder, 'short')).rejects.toThrow(/8 to 1024/)
  expect(keyFileAddress(folder)).toBe(null)
})

test('a folder without a key has none', async () => {
  mkdirSync(join(temporaryFolder(), 'empty'))
  expect(await unlockKeyFile(temporaryFolder(), passphrase)).toBe(null)
})

test('a plain key is for local chains alone, and stays the same', async () => {
  const folder = temporaryFolder()
  await expect(localKey(folder, { isLocal: false })).rejects.toThrow(/runs on this machine/)
  const key = await localKey(folder, { isLocal: true })
  expect((await localKey(folder, { isLocal: true })).address).toBe(key.address)
  expect(statSync(join(folder, 'local-wallet.json')).mode & 0o777).toBe(0o600)
})

test.each(['', 'zz', `${secret}00`, secret.slice(2), '0'.repeat(64), 'f'.repeat(64), `x${secret}`])(
  'the key %j is refused without being repeated',
  async value => {
    const error = await keyFromHex(value).catch(reason => reason)
    expect(error).toBeInstanceOf(WalletRefusal)
    if (value !== '') expect(`${inspect(error, { depth: 9, showHidden: true })}${error.stack}`).not.toContain(value)
  },
)

test('no print of a wallet, its errors or its records holds the key or a passphrase', async () => {
  const key = await keyFromHex(` 0x${secret}\n`)
  const { wallet, folder, dispose } = await sampleWallet()
  const service = fakeService(wallet.address, 'lose after')
  const error = await wallet.pay(order(), service.send).catch(reason => reason)
  const header = await wallet.signIn('https://service.example/api/v1/models')
  const prints = [key, wallet, error, { key, deep: [key] }, new Error('x', { cause: key })].flatMap(value => [
    inspect(value, { depth: 9, showHidden: true, getters: true }),
    format('%s %o %O', value, value, value),
    String(value),
    JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)) ?? '',
  ])
  for (const name of ['agent.db', 'agent.db-wal']) prints.push(readFileSync(join(folder, name), 'latin1'))
  prints.push(Buffer.from(header, 'base64').toString(), ...service.received.map(each => atob(each)))
  for (const print of prints) expect(print.toLowerCase()).not.toContain(secret.slice(0, 16))
  // A signature is a bearer secret until it is answered: nobody is shown it.
  const signature = JSON.parse(atob(service.received[0] ?? '')).payload.signature
  expect(
    JSON.stringify([wallet.receipts(9), error], (_, member) => (typeof member === 'bigint' ? 0 : member)),
  ).not.toContain(signature)
  dispose()
})

test('a sign-in is the wallet’s own text for the configured service, fresh each time', async () => {
  const { wallet, clock, dispose } = await sampleWallet()
  const url = 'https://service.example/api/v1/chat/completions?secret=1'
  const read = readSignInHeader(await wallet.signIn(url))
  if (!read.ok) throw new Error(read.code)
  expect(read.claim).toMatchObject({
    domain: 'service.example',
    uri: 'https://service.example/api/v1/chat/completions',
    chainId: 'eip155:8453',
    issuedAtMs: clock.now(),
    expirationTimeMs: clock.now() + 300_000,
    nonce: expect.stringMatching(/^[0-9a-f]{16}$/),
  })
  const { message, signature, address } = read.claim
  expect(
    await verifyMessage({ address: address as `0x${string}`, message, signature: signature as `0x${string}` }),
  ).toBe(true)
  expect(await wallet.signIn(url)).not.toBe(await wallet.signIn(url))
  dispose()
})

test.each([
  'https://other.example/api/v1',
  'https://service.example.evil.example/',
  'https://service.example:8443/',
  'http://service.example/',
  'https://service.example@evil.example/',
  'no url',
])('no sign-in for %s', async url => {
  const { wallet, dispose } = await sampleWallet()
  await expect(wallet.signIn(url)).rejects.toMatchObject({ rule: 'origin' })
  dispose()
})

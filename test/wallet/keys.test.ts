import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, inspect } from 'node:util'
import { verifyMessage } from 'viem'
import { expect, test } from 'vitest'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { readSignInHeader } from '#contract/wire/sign-in.ts'
import { ed25519Signature, isSignedByKey } from '#host/signatures/signatures.ts'
import {
  changePassphrase,
  createKeyFile,
  exportKeyFile,
  keyFileAddresses,
  seal,
  unlockKeyFile,
} from '#wallet/keys/key-file.ts'
import { keyFromHex, solanaKeyFrom } from '#wallet/keys/keys.ts'
import { localKey } from '#wallet/keys/local-key-file.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { atProductCosts } from '../cheap-passwords.ts'
import { hasMode } from '../has-mode.ts'
import { fakeService, order, sampleWallet, secret, temporaryFolder } from './sample-wallet.ts'

const passphrase = canaryPassphrase

test('an encrypted key opens with its passphrase alone, and tells its address without', async () => {
  const folder = join(temporaryFolder(), 'deep')
  const { address, solanaAddress, path } = await createKeyFile(folder, passphrase)
  expect(hasMode(folder, 0o700)).toBe(true)
  expect(hasMode(path, 0o600)).toBe(true)
  expect(keyFileAddresses(folder)).toEqual([address, solanaAddress])
  expect((await unlockKeyFile(folder, passphrase))?.map(key => key.address)).toEqual([address, solanaAddress])
  await expect(unlockKeyFile(folder, 'wrong horse battery')).rejects.toThrow(/passphrase is wrong/)
  await expect(createKeyFile(folder, passphrase)).rejects.toThrow(/already/)
  const text = readFileSync(path, 'utf8')
  const changes = [
    [address, `0x${'1'.repeat(40)}`],
    [solanaAddress, '1'.repeat(40)],
    ['"isInKeychain": false', '"isInKeychain": true'],
  ] as const
  for (const [from, to] of changes) {
    writeFileSync(path, text.replace(from, to))
    await expect(unlockKeyFile(folder, passphrase)).rejects.toThrow(/passphrase is wrong/)
  }
})

test('a file of the first version opens, with its one key', async () => {
  const folder = temporaryFolder()
  const { address } = await keyFromHex(secret)
  const derivation = { name: 'scrypt', logN: 10, r: 8, p: 1, salt: '00'.repeat(16) } as const
  const clear = `farebox wallet-key 1 ${address} scrypt 10 8 1`
  const cipher = await seal(Buffer.from(secret, 'hex'), clear, passphrase, derivation)
  const file = { farebox: 'wallet-key', version: 1, address, derivation, cipher }
  writeFileSync(join(folder, 'wallet.json'), JSON.stringify(file), { mode: 0o600 })
  expect(keyFileAddresses(folder)).toEqual([address])
  expect((await unlockKeyFile(folder, passphrase))?.map(key => key.address)).toEqual([address])
  expect(await exportKeyFile(folder, passphrase)).toEqual({ evm: `0x${secret}`, solana: null })
  expect(await changePassphrase(folder, passphrase, `${passphrase} anew`)).toBe(true)
  expect(await exportKeyFile(folder, `${passphrase} anew`)).toEqual({ evm: `0x${secret}`, solana: null })
})

test('what is exported makes the same keys', async () => {
  const folder = temporaryFolder()
  const { address, solanaAddress } = await createKeyFile(folder, passphrase)
  const exported = await exportKeyFile(folder, passphrase)
  expect((await keyFromHex(exported?.evm ?? '')).address).toBe(address)
  expect(solanaKeyFrom(exported?.solana ?? '').address).toBe(solanaAddress)
  await expect(exportKeyFile(folder, 'wrong horse battery')).rejects.toThrow(/passphrase is wrong/)
  expect(await exportKeyFile(temporaryFolder(), passphrase)).toBe(null)
})

test('a key that other users can read is refused', { tags: ['posix'] }, async () => {
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
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"logN": \d+/, '"logN": 30'))
  await expect(unlockKeyFile(folder, passphrase)).rejects.toThrow(/is not a key file/)
})

test('a key file of the product costs what its documentation says, and opens', async () => {
  const folder = temporaryFolder()
  const { path, address } = await atProductCosts(() => createKeyFile(folder, passphrase))
  expect(JSON.parse(readFileSync(path, 'utf8')).derivation).toMatchObject({ name: 'scrypt', logN: 17, r: 8, p: 1 })
  expect((await unlockKeyFile(folder, passphrase))?.[0]?.address).toBe(address)
})

test('a short passphrase is refused and writes nothing', async () => {
  const folder = temporaryFolder()
  await expect(createKeyFile(folder, 'short')).rejects.toThrow(/8 to 1024/)
  expect(keyFileAddresses(folder)).toBe(null)
})

test('a folder without a key has none', async () => {
  mkdirSync(join(temporaryFolder(), 'empty'))
  expect(await unlockKeyFile(temporaryFolder(), passphrase)).toBe(null)
})

test('a plain key is for local chains alone, and stays the same', async () => {
  const folder = temporaryFolder()
  await expect(localKey(folder, { isLocal: false })).rejects.toThrow(/a local chain on this machine/)
  const key = await localKey(folder, { isLocal: true })
  expect((await localKey(folder, { isLocal: true })).address).toBe(key.address)
  expect(hasMode(join(folder, 'local-wallet.json'), 0o600)).toBe(true)
})

test.each(['', 'zz', `${secret}00`, secret.slice(2), '0'.repeat(64), 'f'.repeat(64), `x${secret}`])(
  'the key of row %# is refused without being repeated',
  async value => {
    const error = await keyFromHex(value).catch(reason => reason)
    expect(error).toBeInstanceOf(WalletRefusal)
    if (value !== '') expect(`${inspect(error, { depth: 9, showHidden: true })}${error.stack}`).not.toContain(value)
  },
)

const solanaSecret = '2XAnC1UuoiLJxbjCq2YxSWfyGSLTGtSCqNpGpMgspYeFh35r4CCqCLNGZA7N1LoyxoXnXXyCwcqkQud8pa5QriQC'

test.each([
  '',
  'zz',
  `${solanaSecret}1`,
  solanaSecret.slice(1),
  `${solanaSecret.slice(0, -1)}D`,
  '0'.repeat(88),
  secret,
])('the Solana key of row %# is refused without being repeated', value => {
  let error: unknown
  try {
    solanaKeyFrom(value)
  } catch (reason) {
    error = reason
  }
  expect(error).toBeInstanceOf(WalletRefusal)
  if (value !== '') expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(value)
})

test('a Solana key signs as the curve says, and no print of it holds more than its address', async () => {
  const key = solanaKeyFrom(` ${solanaSecret}\n`)
  const signature = ed25519Signature(await key.signMessage('hello'))
  expect(
    await isSignedByKey(decodeBase58(key.address, 32) ?? new Uint8Array(), 'hello', signature ?? new Uint8Array()),
  ).toBe(true)
  const prints = [
    inspect(key, { depth: 9, showHidden: true, getters: true }),
    format('%s %o %O', key, key, key),
    JSON.stringify(key),
  ]
  const seed = Buffer.from(decodeBase58(solanaSecret, 64) ?? [])
    .toString('hex')
    .slice(0, 64)
  for (const print of prints)
    for (const part of [solanaSecret.slice(0, 16), seed.slice(0, 16)]) expect(print).not.toContain(part)
})

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
  // A signature is a bearer secret until it is answered, so it is never shown.
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

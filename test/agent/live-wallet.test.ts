/** What changes in the wallet's folder while an assistant's server runs. */

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lockedAgainMs } from '#agent/bounds.ts'
import { readSettings } from '#agent/settings/settings.ts'
import { pinService } from '#agent/settings/wallet-settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { readPassphraseFile } from '#cli/wallet/terminal.ts'
import { listModels } from '#contract/operations/models.ts'
import { createKeyFile, keyFileName } from '#wallet/keys/key-file.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { answerJson } from '../client/little-server.ts'
import { temporaryFolder } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const passphrase = canaryPassphrase

async function serverOn(env: Record<string, string>, more: Record<string, string> = {}) {
  const folder = temporaryFolder()
  const passphraseFile = join(folder, 'passphrase')
  const { settings } = readSettings({ FAREBOX_DATA: folder, ...env, ...more })
  const read = () => readPassphraseFile(passphraseFile, {}).catch(() => null)
  const host = await createHost(async () => settings, { file: passphraseFile, read })
  onTestFinished(() => host.close())
  const context = async () => {
    const now = (await host.now?.()) ?? host
    return now.context({ signal: new AbortController().signal, report: () => {} })
  }
  return {
    folder,
    context,
    status: async () => (await context()).wallet.status(),
    writePassphrase: (text: string) => writeFileSync(passphraseFile, `${text}\n`, { mode: 0o600 }),
  }
}

/** A service where every wallet has credit. */
async function service() {
  const server = await pretendService({
    instead: (seen, response) => {
      if (!seen.path.includes('/x402/balance/')) return false
      const data = { walletAddress: '0x0', balanceUsd: 1, canConsume: true, minimumTopUpUsd: 5, suggestedTopUpUsd: 10 }
      answerJson(response, 200, { success: true, data: { ...data, diemBalanceUsd: 0 } })
      return true
    },
  })
  onTestFinished(server.close)
  return server
}

test('a wallet that is made, unlocked, changed or removed while the server runs is the one of the next call', async () => {
  const { baseUrl } = await service()
  const { folder, status, context, writePassphrase } = await serverOn({ FAREBOX_BASE_URL: baseUrl })
  expect(await status()).toMatchObject({ pays: 'nothing', address: null })
  const { address } = await createKeyFile(folder, passphrase)
  expect(await status()).toMatchObject({ pays: 'nothing', address })
  writePassphrase('not the passphrase')
  expect((await status()).next).toContain('the passphrase is wrong for the wallet')
  writePassphrase(passphrase)
  expect(await status()).toMatchObject({ pays: 'wallet', address, creditMicroUsd: 1_000_000n })
  // Free calls go by it as well.
  const call = { params: undefined, query: { type: 'all' as const }, body: undefined }
  await expect((await context()).call(listModels, call)).resolves.toBeDefined()
  rmSync(join(folder, keyFileName))
  const other = await createKeyFile(folder, passphrase)
  expect(other.address).not.toBe(address)
  expect(await status()).toMatchObject({ pays: 'wallet', address: other.address })
  rmSync(join(folder, keyFileName))
  expect(await status()).toMatchObject({ pays: 'nothing', address: null })
})

test('a call that is in flight ends with the wallet that it began with', async () => {
  const { baseUrl } = await service()
  const { folder, status, context } = await serverOn({ FAREBOX_BASE_URL: baseUrl })
  const before = await context()
  await createKeyFile(folder, passphrase)
  await status()
  expect((await before.wallet.status()).pays).toBe('nothing')
})

test('many calls at once open a new wallet once', async () => {
  const { baseUrl } = await service()
  const { folder, status, writePassphrase } = await serverOn({ FAREBOX_BASE_URL: baseUrl })
  writePassphrase(passphrase)
  await createKeyFile(folder, passphrase)
  const seen = await Promise.all(Array.from({ length: 5 }, status))
  expect(new Set(seen.map(({ pays }) => pays))).toEqual(new Set(['wallet']))
})

test('the service that a wallet was made for is used, also where it is named while the server runs; the environment wins', async () => {
  const [pinned, named] = [await service(), await service()]
  const { folder, status } = await serverOn({})
  expect((await status()).service).toBe('http://127.0.0.1:8402/api/v1')
  pinService(folder, pinned.baseUrl)
  expect((await status()).service).toBe(pinned.baseUrl)
  const other = await serverOn({ FAREBOX_BASE_URL: named.baseUrl })
  pinService(other.folder, pinned.baseUrl)
  expect((await other.status()).service).toBe(named.baseUrl)
})

test('in a bundle without a wallet the next step is in its settings, and no command', async () => {
  const { baseUrl } = await service()
  const { status } = await serverOn({ FAREBOX_BASE_URL: baseUrl, FAREBOX_BUNDLE: '1' })
  const { next } = await status()
  expect(next).toContain('Wallet key')
  expect(next).not.toMatch(/farebox|terminal|npm/)
})

test('a wallet that stays locked is tried again, and holds no more files after each try', {
  tags: ['linux'],
}, async () => {
  const { baseUrl } = await service()
  const { folder, status, writePassphrase } = await serverOn({ FAREBOX_BASE_URL: baseUrl })
  await createKeyFile(folder, passphrase)
  writePassphrase('not the passphrase')
  let nowMs = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  const openFiles = () => readdirSync('/proc/self/fd').length
  await status()
  const before = openFiles()
  for (let n = 0; n < 5; n++) {
    nowMs += lockedAgainMs + 1
    expect(await status()).toMatchObject({ pays: 'nothing' })
  }
  expect(openFiles()).toBe(before)
})

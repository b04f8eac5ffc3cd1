import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { agentFromSettings } from '#agent/open-agent.ts'
import { readSettings } from '#agent/settings/settings.ts'
import { toolHost } from '#agent/tools/tool-host.ts'
import { microUsd } from '#contract/money.ts'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import walletReceipts from '../../tools/wallet-receipts.ts'
import walletStatus from '../../tools/wallet-status.ts'
import { canaryApiKey, canaryPassphrase } from '../canary/canaries.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { payTo, pretendService } from './pretend-service.ts'

/** Keys are derived from passphrases slowly, on purpose. */
vi.setConfig({ testTimeout: 60_000 })

const passphrase = canaryPassphrase

const alone = () => ({ signal: new AbortController().signal, report: () => {} })

async function told(env: Record<string, string>, given: string | null) {
  const host = toolHost(await agentFromSettings(readSettings(env).settings, given))
  const context = host.context(alone())
  const receipts = await walletReceipts.run(context, { limit: 10 })
  const status = await walletStatus.run(context, {})
  await host.close()
  return { receipts, status, said: `${walletReceipts.say(receipts)}\n${walletStatus.say(status)}` }
}

test('a locked wallet shows its payments, caps and payee, and how to unlock it', async () => {
  const service = await pretendService()
  const folder = temporaryFolder()
  const { address } = await createKeyFile(folder, passphrase)
  const env = {
    FAREBOX_BASE_URL: service.baseUrl,
    FAREBOX_DATA: folder,
    FAREBOX_PAYEE: payTo,
    FAREBOX_ASK_ABOVE_USD: '5',
  }
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'notes'))
  try {
    const before = await told(env, null)
    expect(before.receipts.receipts).toEqual([])
    expect(before.status).toMatchObject({ pays: 'nothing', address, spent_usd: { today: 0, total: 0 } })
    const payer = toolHost(await agentFromSettings(readSettings(env).settings, passphrase))
    await payer.context(alone()).wallet.topUp(microUsd(5_000_000n))
    await payer.close()
    const open = await told(env, passphrase)
    expect(open.receipts.receipts).toHaveLength(1)
    const locked = await told(env, null)
    expect(locked.receipts.receipts).toEqual(open.receipts.receipts)
    // Nothing is asked of a service without a key.
    const { pays, credit, credit_usd, next, ...known } = open.status
    expect({ pays, next }).toEqual({ pays: 'wallet', next: null })
    expect(credit_usd).not.toBe(0)
    expect(credit).not.toEqual(locked.status.credit)
    expect(locked.status).toMatchObject({ ...known, pays: 'nothing', payee: payTo, spent_usd: { today: 5, total: 5 } })
    expect(locked.said).toContain('Paid today 5')
    expect(locked.said).toMatch(/`farebox mcp --passphrase-file FILE( --data '[^']+')?`/)
  } finally {
    vi.unstubAllEnvs()
    await service.close()
  }
})

test('with an API key the folder’s journal is shown too', async () => {
  const service = await pretendService()
  const payer = await openAgent({ baseUrl: service.baseUrl })
  await payer.chat()
  const { dataFolder } = payer
  await payer.state.close()
  const keyed = await openAgent({ baseUrl: service.baseUrl, apiKey: canaryApiKey, dataFolder })
  try {
    expect(await keyed.context().wallet.receipts(10)).toHaveLength(1)
    expect((await keyed.context().wallet.status()).address).toBeNull()
  } finally {
    await keyed.close()
    await service.close()
  }
})

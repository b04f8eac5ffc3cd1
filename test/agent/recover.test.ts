import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { keyFromHex } from '#wallet/keys/keys.ts'
import type { Sent } from '#wallet/payment/send-payment.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { openWallet } from '#wallet/wallet.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { option, type PretendOptions, payTo, pretendService, walletKey } from './pretend-service.ts'

/** An agent on the folder of an earlier process, whose one payment ended like that `ageMs` ago. */
async function setUp(ended: Sent, { ageMs = 0, ...options }: PretendOptions & { ageMs?: number } = {}) {
  const server = await pretendService({ credit: 5, ...options })
  const dataFolder = temporaryFolder()
  const payees = [{ network: option().network, asset: option().asset, payTo }]
  const earlier = openWallet({
    key: await keyFromHex(walletKey),
    policy: readPolicy({ serviceUrl: server.baseUrl, payees }),
    dataFolder,
    notesFolder: join(dataFolder, 'notes'),
    pause: async () => {},
    clock: { now: () => Date.now() - ageMs },
  })
  const order = { origin: server.origin, accepts: [option()], amountMicroUsd: microUsd(1) }
  await earlier.pay({ ...order, occasion: 'after-402', purpose: 'x' }, async () => ended).catch(() => undefined)
  earlier.close()
  const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder })
  onTestFinished(server.close)
  onTestFinished(agent.close)
  return { server, agent }
}

const lost: Sent = { kind: 'unknown', reason: 'lost' }
const refused: Sent = { kind: 'rejected', status: 400, reason: 'insufficient_funds' }

test('what an earlier process left open is sent again before the first paid call, once', async () => {
  const { server, agent } = await setUp(lost)
  expect(await agent.context().wallet.status()).toMatchObject({
    unresolved: 1,
    next: expect.stringContaining('sent again before any other'),
  })
  expect(server.ledger.signatures).toHaveLength(0)
  const { paid } = await agent.chat()
  expect(paid.notes).toEqual([expect.stringMatching(/^An earlier payment of 5\.00 USD was sent again/)])
  expect(server.ledger.signatures).toHaveLength(1)
  expect(await agent.context().wallet.receipts(5)).toMatchObject([{ state: 'confirmed' }])
  expect(await agent.context().wallet.status()).toMatchObject({ unresolved: 0, next: null })
  expect((await agent.chat('more')).paid).not.toHaveProperty('notes')
  expect(server.ledger.signatures).toHaveLength(1)
})

test('credit is spent also where the open payment is still refused', async () => {
  const { server, agent } = await setUp(lost, { payments: ['reject'] })
  await agent.chat()
  await agent.chat('more')
  expect(server.ledger).toMatchObject({ chats: 2, signatures: [expect.any(String)] })
  expect((await agent.context().wallet.status()).next).toContain('has enough USDC')
})

test('a refused payment that is over still counts, and status says who can release it', async () => {
  const { agent } = await setUp(refused, { payments: ['reject'], ageMs: 3_600_000 })
  await agent.chat()
  const status = await agent.context().wallet.status()
  expect(status).toMatchObject({ unresolved: 1, spent: { total: 5_000_000n } })
  const [payment] = await agent.context().wallet.receipts(5)
  expect(status.next).toContain(`farebox wallet resolve ${payment?.id}`)
})

test('a journal that was away at the first paid call is asked again at the next one', async () => {
  const { server, agent } = await setUp(lost)
  const away = { rule: 'journal-away', sentence: 'The journal is away.', nextStep: 'Try again.' } as const
  const { wallet } = agent
  if (!wallet) throw new Error('There is no wallet.')
  vi.spyOn(wallet, 'status').mockRejectedValueOnce(new WalletRefusal(away))
  await expect(agent.chat()).rejects.toThrow('The journal is away.')
  await agent.chat()
  expect(server.ledger).toMatchObject({ chats: 1, signatures: [expect.any(String)] })
})

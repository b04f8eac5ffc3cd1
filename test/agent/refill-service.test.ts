import { expect, test, vi } from 'vitest'
import { createAgent } from '#agent/create-agent.ts'
import { paysWithoutAsking } from './local-agent.ts'
import { localService } from './local-service.ts'
import { temporaryFolder } from './open-agent.ts'

test('at the real service two agents on one journal refill once, ahead of need and within the caps', async () => {
  const service = await localService()
  const dataFolder = temporaryFolder()
  const open = () =>
    createAgent({
      ...paysWithoutAsking(service, {
        ...{ refillBelowUsd: '8', refillByUsd: '5', askAboveUsd: '9', maxDayUsd: '15', cooldownMs: 0 },
      }),
      dataFolder,
    })
  const agents = [await open(), await open()]
  const chat = (n: number) =>
    agents[n % 2]?.call('chat', { model: 'demo-chat', prompt: `Hello ${n}`, max_tokens: 20 }).then(() => n)
  try {
    await chat(0)
    expect(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(chat))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    const [{ wallet } = expect.fail()] = agents
    // The refill goes on beside the calls. Where it failed, the wallet says why.
    const paid = async () =>
      expect((await wallet.receipts(9)).map(({ state, purpose }) => [state, purpose])).toEqual([
        ['confirmed', 'Credit below 8.00 USD, automatic refill'],
        ['confirmed', 'A chat with demo-chat'],
      ])
    await vi.waitFor(paid, { timeout: 60_000, interval: 200 }).catch(async error => {
      throw new Error((await wallet.status()).next ?? 'The wallet says nothing of a refill.', { cause: error })
    })
    const { creditMicroUsd, refill } = await wallet.status()
    expect(Number(creditMicroUsd) / 1e6).toBeCloseTo(10, 1)
    expect(refill).toEqual({ below: 8_000_000n, by: 5_000_000n })
    await chat(9)
    expect(await wallet.receipts(9)).toHaveLength(2)
  } finally {
    for (const agent of agents) await agent.close()
    await service.close()
  }
}, 120_000)

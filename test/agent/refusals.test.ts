import { expect, onTestFinished, test, vi } from 'vitest'
import { payingFetch } from '#agent/fetch/paying-fetch.ts'
import { listRefusals } from '#wallet/rules/refusals.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import type { AgentSetUp } from './open-agent.ts'
import { openAgent } from './open-agent.ts'
import { type PretendOptions, payTo, pretendService } from './pretend-service.ts'

/** Each step is a commit that is synced, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

async function setUp(service: PretendOptions = {}, options: Partial<AgentSetUp> = {}) {
  const server = await pretendService(service)
  onTestFinished(server.close)
  const agent = await openAgent({ baseUrl: server.baseUrl, ...options })
  onTestFinished(agent.close)
  const fetch = payingFetch(agent, { takesConsents: true })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'the secret of the call' }] })
  const headers = { 'content-type': 'application/json' }
  return {
    ...agent,
    origin: new URL(server.baseUrl).origin,
    post: () => fetch(`${server.baseUrl}/chat/completions`, { method: 'POST', headers, body }),
    refusals: () => agent.records.read(() => listRefusals(99)),
  }
}

const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/)

test('a call above its cap is on record with what it was, by tool and by fetch', async () => {
  const { chat, post, refusals, origin, wallet } = await setUp({}, { settings: { maxCallUsd: '0.000001' } })
  await expect(chat('the secret of the call')).rejects.toThrow()
  expect((await post()).status).toBe(403)
  const record = { rule: 'max-call', operation: 'createChatCompletion', origin, limitMicroUsd: 1n, requestHash: sha256 }
  const rows = await refusals()
  expect(rows).toMatchObject([
    { ...record, address: wallet?.address },
    { ...record, address: wallet?.address },
  ])
  expect(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain('secret')
})

test('a top-up after a 402 that is refused names the call that wanted it', async () => {
  const { chat, refusals, origin } = await setUp({}, { settings: { maxPaymentUsd: '4' } })
  for (let time = 0; time < 3; time++) await expect(chat()).rejects.toThrow()
  expect(await refusals()).toMatchObject([
    { rule: 'max-payment', operation: 'createChatCompletion', origin, requestHash: sha256, times: 3 },
  ])
})

test('a consent that the user does not give is a refusal of that call', async () => {
  const { video, refusals, approvals } = await setUp({ asksConsent: true, credit: 5 })
  const { request } = await video().catch(error => error)
  await approvals.resolve(request.approvalId, { isApproved: false, by: 'a test' })
  await expect(video()).rejects.toThrow(/has denied/)
  expect(await refusals()).toMatchObject([
    { rule: 'denied', operation: 'queueVideo', requestHash: sha256, times: 2, payTo: null },
  ])
})

test('an API key is held against the caps too, and has no address', async () => {
  const { chat, refusals } = await setUp({ credit: 5 }, { apiKey: canaryApiKey, settings: { maxCallUsd: '0.000001' } })
  await expect(chat()).rejects.toThrow()
  expect(await refusals()).toMatchObject([{ rule: 'max-call', address: null }])
})

test('a payee that the user does not approve', async () => {
  const { chat, refusals, approvals } = await setUp({}, { isNewPayee: true })
  const { request } = await chat().catch(error => error)
  await approvals.resolve(request.approvalId, { isApproved: false, by: 'a test' })
  expect(await refusals()).toMatchObject([{ rule: 'denied', payTo, operation: 'createChatCompletion' }])
})

import { expect, test } from 'vitest'
import { queueVideo } from '#contract/operations/video.ts'
import type { ConsentRequest } from '#toolkit/approval.ts'
import { agreed } from '../agreed.ts'
import { answerJson } from '../client/little-server.ts'
import { failureOf, questionOf } from './outcome-of.ts'
import { payingAgents } from './paying-agent.ts'
import { policyText } from './pretend-service.ts'

const { setUp } = payingAgents()

test('a call above the threshold needs approval, and above its cap is refused', async () => {
  const { server, agent } = await setUp({ credit: 20, quote: 2 })
  const question = await questionOf(agent.video())
  expect(question).toMatchObject({ kind: 'spend', amountMicroUsd: 2_000_000n })
  expect(server.countOf('/video/queue')).toBe(0)
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  expect((await agent.video()).paid.chargedMicroUsd).toBe(2_000_000n)
  await questionOf(agent.video('another cat'))
  const dear = await setUp({ credit: 20, quote: 11 })
  await failureOf(dear.agent.video())
  expect(dear.server.countOf('/video/queue')).toBe(0)
})

test('a chat that cannot be priced needs approval', async () => {
  const { server, agent } = await setUp({
    credit: 5,
    instead: (seen, response) => {
      if (!seen.path.includes('/models')) return false
      const model = { id: 'm', object: 'model', owned_by: 'x', type: 'text', model_spec: { privacy: 'private' } }
      answerJson(response, 200, { object: 'list', type: 'all', data: [model] })
      return true
    },
  })
  expect(await questionOf(agent.chat())).toMatchObject({ kind: 'spend', amountMicroUsd: null })
  expect(server.ledger.chats).toBe(0)
})

test('consent: requested with the whole text, given, and sent only with this request and this text', async () => {
  let text = policyText
  const { server, agent } = await setUp({ credit: 5, asksConsent: true, policyText: () => text })
  const question = (await questionOf(agent.video())) as ConsentRequest
  expect(question).toMatchObject({ kind: 'consent', provider: 'demo', policyText, faceMediaRoles: ['image'] })
  expect(server.ledger.videos).toBe(0)
  const yes = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const
  await agent.host.answer(question.approvalId, yes)

  const other = await questionOf(agent.video('a dog'))
  expect(other.approvalId).not.toBe(question.approvalId)
  text = `${policyText} And more.`
  const changed = await questionOf(agent.video())
  expect(changed.approvalId).not.toBe(question.approvalId)
  text = policyText

  expect((await agent.video()).job.state).toBe('running')
  expect(JSON.parse(server.seen.at(-1)?.body ?? '').consents).toEqual({ demo: agreed })
  expect(server.ledger.videos).toBe(1)
})

test('consent: a box that is not ticked is a denial, and is not asked again', async () => {
  const { server, agent } = await setUp({ credit: 5, asksConsent: true })
  const question = await questionOf(agent.video())
  await agent.host.answer(question.approvalId, {
    kind: 'consent',
    termsAndPrivacy: true,
    legalRight: false,
    screeningAcknowledged: true,
  })
  expect(await failureOf(agent.video())).toMatchObject({ charged: 0n })
  expect(server.ledger.videos).toBe(0)
})

test('consent: a denied request stays denied even if the service asks no more', async () => {
  const { server, agent } = await setUp({ credit: 5, asksConsent: true, keepsConsent: true })
  const refused = await questionOf(agent.video('a cat'))
  const other = await questionOf(agent.video('a dog'))
  await agent.host.answer(refused.approvalId, { kind: 'declined' })
  const yes = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const
  await agent.host.answer(other.approvalId, yes)
  await agent.video('a dog')
  const sent = server.countOf('/video/queue')
  for (const again of [false, true])
    expect(await failureOf(agent.video('a cat', again))).toMatchObject({
      happened: 'The user has denied this.',
      charged: 0n,
    })
  expect([server.countOf('/video/queue'), server.ledger.videos]).toEqual([sent, 1])
  await agent.approvals.resolve(refused.approvalId, { isApproved: true, by: 'terminal', takesBack: true })
  expect((await agent.video('a cat')).job.state).toBe('running')
})

test('an approval of a price survives a consent that is requested after it', async () => {
  const { agent } = await setUp({ credit: 20, quote: 2, asksConsent: true })
  const spend = await questionOf(agent.video())
  await agent.host.answer(spend.approvalId, { kind: 'approve', approved: true })
  const consent = await questionOf(agent.video())
  expect(consent.kind).toBe('consent')
  const yes = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const
  await agent.host.answer(consent.approvalId, yes)
  expect((await agent.video()).job.state).toBe('running')
})

test('one approval is for one purchase: `again` asks each time', async () => {
  const { server, agent } = await setUp({ credit: 20, quote: 2 })
  const question = await questionOf(agent.video())
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  await agent.video()
  for (let attempt = 0; attempt < 4; attempt++) await questionOf(agent.video('a cat', true))
  expect(server.ledger.videos).toBe(1)
})

test('a consent that did not come from the user is not sent', async () => {
  const { server, agent } = await setUp({ credit: 5 })
  const consents = { demo: agreed } as const
  const body = { model: 'm', prompt: 'x', duration: '5s', consents } as const
  await agent.context().start(queueVideo, { params: undefined, query: undefined, body })
  expect(JSON.parse(server.seen.at(-1)?.body ?? '')).not.toHaveProperty('consents')
})

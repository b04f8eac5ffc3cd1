/** A consent applies to one request: the user is asked again about another request with the same media, whatever the service remembers. */
import { expect, test } from 'vitest'
import { payingFetch } from '#agent/fetch/paying-fetch.ts'
import { queueVideo, type VideoQueueRequest } from '#contract/operations/video.ts'
import type { ApprovalDecision, ConsentRequest } from '#toolkit/approval.ts'
import { agreed } from '../agreed.ts'
import { questionOf } from './outcome-of.ts'
import { payingAgents } from './paying-agent.ts'
import { policyText } from './pretend-service.ts'
import { post, user } from './program-fetch.ts'

const { setUp, open } = payingAgents()

const yes: ApprovalDecision = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }
const image = (bytes: string) => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`
const [ada, ben] = [image('ada'), image('ben')]

type Agent = Awaited<ReturnType<typeof open>>
const video = (agent: Agent, body: Partial<VideoQueueRequest>, again = false) =>
  agent
    .context()
    .start(
      queueVideo,
      { params: undefined, query: undefined, body: { model: 'm', prompt: 'a cat', duration: '5s', ...body } },
      { again },
    )

/** An agent whose user has consented to one video with Ada, at a service that no longer asks. */
async function afterConsent(body: Partial<VideoQueueRequest> = { image_url: ada }) {
  const { server, agent } = await setUp({ credit: 20, asksConsent: true, keepsConsent: true })
  const { approvalId } = await questionOf(video(agent, body))
  await agent.host.answer(approvalId, yes)
  await video(agent, body)
  expect(server.ledger.videos).toBe(1)
  return { server, agent }
}

test.each<[string, Partial<VideoQueueRequest>]>([
  ['another prompt', { image_url: ada, prompt: 'a dog' }],
  ['different models', { image_url: ada, model: 'n' }],
  ['another duration', { image_url: ada, duration: '10s' }],
  ['another place', { reference_image_urls: [ada] }],
  ['a place inside an element', { elements: [{ frontal_image_url: ada }] }],
  ['a scene', { scene_image_urls: [ada] }],
  ['another spelling of the data URL', { image_url: ada.replace('data:image/png', 'DATA:image/x-png'), prompt: 'x' }],
  ['another image beside it', { image_url: ada, end_image_url: ben }],
  ['an address, whose bytes may be the same', { image_url: 'https://images.example/ada.png' }],
])('the same image with %s is asked about again', async (_what, body) => {
  const { server, agent } = await afterConsent()
  const sent = server.countOf('/video/queue')
  const question = (await questionOf(video(agent, body))) as ConsentRequest
  expect(question).toMatchObject({ kind: 'consent', provider: 'demo', policyText })
  expect([server.countOf('/video/queue'), server.ledger.videos]).toEqual([sent, 1])
  await agent.host.answer(question.approvalId, yes)
  await video(agent, body)
  expect(server.ledger.videos).toBe(2)
})

test.each<[string, Partial<VideoQueueRequest>]>([
  ['the same request', { image_url: ada }],
  ['another image', { image_url: ben, prompt: 'a dog' }],
  ['no image', { prompt: 'a dog' }],
  ['sound alone', { prompt: 'a dog', audio_url: 'https://sounds.example/a.wav' }],
])('%s is not asked about by this', async (_what, body) => {
  const { server, agent } = await afterConsent()
  await video(agent, body, true)
  expect(server.ledger.videos).toBe(2)
})

test('what was sent by its address may be any image', async () => {
  const { agent } = await afterConsent({ image_url: 'https://images.example/ada.png' })
  await questionOf(video(agent, { image_url: ben }))
})

test('another process of the wallet asks too', async () => {
  const { server, agent } = await afterConsent()
  const next = await open({ baseUrl: server.baseUrl, dataFolder: agent.dataFolder })
  await questionOf(video(next, { image_url: ada, prompt: 'a dog' }))
})

test.each([
  ['asks the user', undefined, 1, 200],
  ['takes what its own code says for the user', { demo: agreed }, 0, 200],
])('a request of a program %s', async (_what, consents, times, status) => {
  const { server, agent } = await afterConsent()
  const { asked, ask } = user(yes)
  const fetch = payingFetch(agent, { takesConsents: true, ask })
  const body = { model: 'm', prompt: 'a dog', duration: '5s', image_url: ada, consents }
  const answer = await post({ fetch, server }, '/video/queue', body)
  expect([answer.status, asked.map(({ kind }) => kind)]).toEqual([status, Array(times).fill('consent')])
})

test('a second service knows nothing of a consent to the first', async () => {
  const { agent } = await afterConsent()
  const other = await setUp({ credit: 20 }, { dataFolder: agent.dataFolder })
  await video(other.agent, { image_url: ada, prompt: 'a dog' })
  expect(other.server.ledger.videos).toBe(1)
})

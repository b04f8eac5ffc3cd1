/** The user approves what was shown: a service that raises its price afterwards must ask again. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApprovalRequest, ApprovalRequired } from '#toolkit/approval.ts'
import { openAgent } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { answerJson } from '../client/little-server.ts'

let service: Awaited<ReturnType<typeof pretendService>>
let agent: Awaited<ReturnType<typeof openAgent>>
let quote: number

beforeAll(async () => {
  service = await pretendService({
    credit: 5,
    asksConsent: true,
    instead(seen, response) {
      if (!seen.path.endsWith('/video/quote')) return false
      answerJson(response, 200, { quote })
      return true
    },
  })
})
afterAll(() => service.close())

beforeEach(async () => {
  quote = 0.25
  agent = await openAgent({ baseUrl: service.baseUrl })
})
afterEach(() => agent.close())

const yes = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const

async function asked(): Promise<ApprovalRequest> {
  const error = await agent.video().then(
    () => new Error('It was bought.'),
    thrown => thrown,
  )
  if (error instanceof ApprovalRequired) return error.request
  throw error
}

const priceIn = ({ details }: ApprovalRequest) => details.find(({ name }) => name === 'Price')?.value

test('a consent is valid up to the price that was shown with it', async () => {
  const bought = service.ledger.videos
  const first = await asked()
  expect(priceIn(first)).toBe('at most 0.25 USD')
  await agent.host.answer(first.approvalId, yes)
  quote = 0.95
  const second = await asked()
  expect(priceIn(second)).toBe('at most 0.95 USD')
  expect(second.approvalId).not.toBe(first.approvalId)
  expect(service.ledger.videos).toBe(bought)
  quote = 0.2
  expect(await agent.video()).toMatchObject({ job: expect.anything() })
})

test('a question that waits is not answered for a higher price than it shows', async () => {
  const first = await asked()
  quote = 0.95
  const second = await asked()
  expect(priceIn(second)).toBe('at most 0.95 USD')
  await expect(agent.host.answer(first.approvalId, yes)).rejects.toThrow('already expired')
  expect((await agent.approvals.list('pending')).map(({ id }) => id)).toEqual([second.approvalId])
  await agent.host.answer(second.approvalId, yes)
  expect(await agent.video()).toMatchObject({ job: expect.anything() })
})

test('a denial applies at every price', async () => {
  const first = await asked()
  await agent.host.answer(first.approvalId, { kind: 'declined' })
  for (const other of [0.95, 0.01]) {
    quote = other
    await expect(asked()).rejects.toThrow('The user has denied this.')
  }
})

import { expect, onTestFinished, test } from 'vitest'
import { readSignInHeader } from '#contract/wire/sign-in.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson } from '../client/little-server.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const minutes = (count: number): number => count * 60_000

interface Skewed {
  aheadMs: number
  apiKey?: string
  isDeaf?: boolean
  /** So many chats have to be there before the first is answered. */
  together?: number
}

/** A service that takes sign-ins of the last minute by its own clock, and an agent whose clock goes wrong by so much. */
async function setUp({ aheadMs, apiKey, isDeaf = false, together = 1 }: Skewed) {
  let [arrived, allAreThere] = [0, () => {}]
  const all = new Promise<void>(resolve => {
    allAreThere = resolve
  })
  const server = await pretendService({
    credit: 5,
    instead: async (seen, response) => {
      if (!seen.path.endsWith('/chat/completions')) return false
      arrived++
      if (arrived === together) allAreThere()
      await all
      const signIn = readSignInHeader(String(seen.headers['sign-in-with-x'] ?? ''))
      const issuedAtMs = signIn.ok ? signIn.claim.issuedAtMs : Number.NaN
      if (!isDeaf && Math.abs(issuedAtMs - Date.now()) < minutes(1)) return false
      answerJson(response, 401, { error: 'Authentication failed' })
      return true
    },
  })
  const clock = { now: () => Date.now() + aheadMs }
  const agent = await openAgent({ baseUrl: server.baseUrl, clock, ...(apiKey ? { apiKey } : {}) })
  onTestFinished(server.close)
  onTestFinished(agent.close)
  return { agent, chats: () => server.countOf('/chat/completions') }
}

test.each([minutes(-5), minutes(5), minutes(-9), minutes(9)])(
  'a clock that goes wrong by %i ms: the sign-in is signed anew by the service’s time, once, and then right at once',
  async aheadMs => {
    const { agent, chats } = await setUp({ aheadMs })
    expect((await agent.chat('one')).answer.choices[0]?.message.content).toBe('answer 1')
    expect(chats()).toBe(2)
    await agent.chat('two')
    expect(chats()).toBe(3)
  },
)

test('calls in flight with a wrong time are each signed again', async () => {
  const { agent, chats } = await setUp({ aheadMs: minutes(5), together: 3 })
  const answers = await Promise.all(['one', 'two', 'three'].map(prompt => agent.chat(prompt)))
  expect(answers).toHaveLength(3)
  expect(chats()).toBe(6)
})

test.each([
  ['whose clock goes wrong by more than is followed', { aheadMs: minutes(-11) }, [1, 2]],
  ['whose clock is right', { aheadMs: 0, isDeaf: true }, [1, 2]],
  ['that is refused also by the service’s time', { aheadMs: minutes(5), isDeaf: true }, [2, 3]],
  ['with an API key', { aheadMs: minutes(5), apiKey: canaryApiKey }, [1, 2]],
])('a caller %s is refused as ever, and does not go round', async (_rule, options, counts) => {
  const { agent, chats } = await setUp(options)
  for (const count of counts) {
    await expect(agent.chat()).rejects.toThrow('did not accept')
    expect(chats()).toBe(count)
  }
})

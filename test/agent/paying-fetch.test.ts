import { afterEach, expect, test } from 'vitest'
import { payingFetch } from '#agent/paying-fetch.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test.each(['authorization', 'sign-in-with-x', 'x-sign-in-with-x', 'payment-signature', 'x-402-payment', 'x-payment'])(
  'the header %s of a program is not passed on: who signs in and pays is the agent',
  async name => {
    const server = await pretendService({ credit: 5 })
    const agent = await openAgent({ baseUrl: server.baseUrl })
    closing.push(server.close, agent.close)
    const init = { method: 'POST', body: '{}', headers: { [name]: 'of the program', 'x-other': 'passed' } }
    await (await payingFetch(agent.core)(`${server.baseUrl}/chat/completions`, init)).text()
    expect(server.seen[0]?.headers).toMatchObject({ 'x-other': 'passed' })
    expect(Object.values(server.seen[0]?.headers ?? {})).not.toContain('of the program')
  },
)

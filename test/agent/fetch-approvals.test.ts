import { describe, expect, test } from 'vitest'
import { refusalHeader } from '#agent/fetch/refused-answer.ts'
import type { PretendOptions } from './pretend-service.ts'
import { fetches, no, type Opened, post, ticked, user, video, yes } from './program-fetch.ts'

const { open } = fetches()

describe('the user', () => {
  test('approves: the call is sent once, and the next one asks again', async () => {
    const { ask, asked } = user(yes)
    const opened = await open({ settings: { askAboveUsd: '0.1' }, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect(asked.map(({ kind }) => kind)).toEqual(['spend', 'spend'])
  })

  test('denies: nothing is sent, and the same call does not ask again', async () => {
    const { ask, asked } = user(no)
    const opened = await open({ settings: { askAboveUsd: '0.1' }, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(403)
    const again = await post(opened, '/video/queue', video)
    expect(await again.json()).toMatchObject({ error: { code: 'denied' } })
    expect([asked.length, opened.server.countOf('/video/queue')]).toEqual([1, 0])
  })

  test('is not asked again for the same call if the approval bought nothing', async () => {
    const { ask, asked } = user(yes)
    let isBroken = true
    const instead: PretendOptions['instead'] = ({ path }, response) => {
      if (!isBroken || !path.endsWith('/video/queue')) return false
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"Invalid"}')
      return true
    }
    const opened = await open({ settings: { askAboveUsd: '0.1' }, rules: { ask }, instead })
    expect((await post(opened, '/video/queue', video)).status).toBe(400)
    isBroken = false
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect(asked).toHaveLength(1)
  })

  test('has bought one call if the approval paid for credit first', async () => {
    const { ask, asked } = user(yes)
    const opened = await open({ credit: 0, settings: { askAboveUsd: '0.1' }, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect([asked.length, opened.server.ledger.signatures.length]).toEqual([2, 1])
  })
})

describe('a policy that needs consent', () => {
  const bodies = ({ server }: Opened) =>
    server.seen.filter(({ path }) => path.endsWith('/video/queue')).map(({ body }) => JSON.parse(body))

  test('is shown to the user, whose consent is sent with the same request', async () => {
    const { ask, asked } = user(ticked)
    const opened = await open({ asksConsent: true, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect(asked.map(({ kind }) => kind)).toEqual(['consent'])
    expect(bodies(opened)).toEqual([video, { ...video, consents: { demo: expect.any(Object) } }])
  })

  test('without a user the 409 is passed on and says where to approve', async () => {
    const opened = await open({ asksConsent: true })
    const answer = await post(opened, '/video/queue', video)
    expect([answer.status, answer.headers.get(refusalHeader)]).toEqual([
      409,
      expect.stringMatching(/the policy of demo.*ask_/),
    ])
    expect(await answer.json()).toMatchObject({ error: { code: 'needs_consent' } })
  })

  test('if denied, its request stays denied even if the service asks no more', async () => {
    const answers = [no, ticked]
    const opened = await open({
      ...{ asksConsent: true, keepsConsent: true },
      rules: { ask: () => answers.shift() ?? no },
    })
    const other = { ...video, prompt: 'a dog' }
    expect((await post(opened, '/video/queue', video)).status).toBe(409)
    expect((await post(opened, '/video/queue', other)).status).toBe(200)
    const refused = await post(opened, '/video/queue', video)
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { error: expect.objectContaining({ code: 'denied' }) },
    ])
    expect([bodies(opened).length, opened.server.ledger.videos]).toEqual([3, 1])
  })

  test.each([
    { who: 'of code that the user wrote is sent', takesConsents: true, statuses: 200 },
    { who: 'of a program that a model may speak through is not', takesConsents: false, statuses: 409 },
  ])('a consent $who', async ({ takesConsents, statuses }) => {
    const opened = await open({ asksConsent: true, rules: { takesConsents } })
    const confirmed = { confirmed_terms_and_privacy: true, confirmed_legal_right: true }
    const consents = { demo: { ...confirmed, confirmed_screening_acknowledged: true } }
    expect((await post(opened, '/video/queue', { ...video, consents })).status).toBe(statuses)
  })
})

/** Charges of a chat before its answer, and the charge of a chat whose caller has left. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { inferenceFailed, invalidRequest, modelOverloaded } from '#contract/errors/errors.ts'
import { audit } from '#ledger/audit/audit.ts'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { textModel } from './models/example-models.ts'
import { ScriptedWeb } from './scripted-web.ts'

/** One search, in micro-USD. */
const search = 10_000n

let fixture: ChatFixture
beforeAll(async () => {
  const web = new ScriptedWeb()
  const { capabilities } = textModel()
  fixture = await openFixture({
    search: web,
    pages: web,
    model: { capabilities: { ...capabilities, supportsReasoning: true } },
  })
})
afterEach(async () => {
  await expect.poll(() => fixture.openHolds()).toBe(0)
  expect((await audit(fixture.service.database)).findings).toEqual([])
})
afterAll(() => fixture.service.close())

const refusal = () => invalidRequest({ error: 'The model does not accept this request.' })

describe.each([false, true])('a search before an engine that gives no answer; stream: %s', stream => {
  test.each<[how: string, error: () => Error, owed: bigint]>([
    ['because of what is in the request: it is charged', refusal, search],
    ['because it failed: it is free', inferenceFailed, 0n],
    ['because it is busy: it is free', modelOverloaded, 0n],
  ])('%s', async (_how, error, owed) => {
    fixture.engine.play([{ fail: error() }])
    const customer = await fixture.customer(1)
    const answer = await fixture.chat(customer, { service_parameters: { enable_web_search: 'on' }, stream })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    await answer.text()
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect((await fixture.ledger(customer.account)).charged).toBe(owed)
  })
})

describe('a call that is under way when its process ends', () => {
  const owedOfHold = async () => (await fixture.service.store.read.selectFrom('hold').select('owed').execute())[0]?.owed

  test.each<[what: string, body: object]>([
    ['a whole answer', {}],
    ['a stream', { stream: true }],
  ])('%s owes its prompt and thought where its caller has left, and nothing while one waits', async (_what, body) => {
    const answered = Promise.withResolvers<void>()
    fixture.engine.play([{ role: true }, { until: answered.promise }, ...words('one'), { usage: used(20, 30) }])
    const customer = await fixture.customer(1)
    const client = new AbortController()
    const answer = fixture.chat(customer, body, { signal: client.signal }).catch(() => null)
    await expect.poll(() => fixture.engine.calls.length).toBe(1)
    if ('stream' in body) await (await answer)?.body?.getReader().read()
    fixture.service.clock.pass(11_000)
    await new Promise(resolve => setTimeout(resolve, 600))
    expect(await owedOfHold()).toBeNull()
    client.abort()
    fixture.service.clock.pass(89_000)
    await expect.poll(owedOfHold).toContain('chat.output.estimated')
    answered.resolve()
    await answer
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect((await fixture.ledger(customer.account)).charged).toBe(320n)
  })
})

test('a decision whether to search that has no choice is free', async () => {
  const customer = await fixture.customer(1)
  const { complete } = fixture.engine
  fixture.engine.play([...words('An', ' answer'), { usage: used(100, 10) }])
  let asked = 0
  fixture.engine.complete = async call => {
    const whole = await complete.call(fixture.engine, call)
    return asked++ === 0 ? { ...whole, choices: [], usage: used(50, 50) } : whole
  }
  await fixture.chat(customer, { service_parameters: { enable_web_search: 'auto' } })
  fixture.engine.complete = complete
  expect((await fixture.ledger(customer.account)).skus).toEqual(['chat.input', 'chat.output'])
})

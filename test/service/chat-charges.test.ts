import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { inferenceFailed, modelOverloaded } from '#contract/errors/errors.ts'
import { countGenerated } from '#engines/tokens/count-tokens.ts'
import { audit } from '#ledger/audit/audit.ts'
import { type ChatFixture, eventsOf, openFixture, prompt } from './chat-fixture.ts'
import { type Beat, used, words } from './chat-script.ts'

const secret = 'upstream-secret sk-1234'
const role: Beat = { role: true }
const sixWords = words('one', ' two', ' three', ' four', ' five', ' six')

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture()
})
afterEach(async () => {
  vi.useRealTimers()
  // Whatever became of the call, nothing stays held, and what was booked adds up.
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const report = await audit(fixture.service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  expect(fixture.service.logged.filter(line => line.level === 'error')).toEqual([])
})
afterAll(() => fixture.service.close())

const holdsEver = async () =>
  (await fixture.service.store.read.selectFrom('ended_hold').select('id').execute()).length +
  (await fixture.openHolds())

describe('rejected before its engine is asked: nothing is held, nothing is charged', () => {
  const rejected: [rule: string, usd: number, body: object, status: number][] = [
    ['a field that is wrong', 1, { temperature: 3 }, 400],
    ['an option that is not built', 1, { service_parameters: { enable_web_search: 'on' } }, 400],
    ['a model that is not there', 1, { model: 'another' }, 404],
    ['a prompt beyond the context', 1, { messages: [{ role: 'user', content: 'word '.repeat(140_000) }] }, 400],
    ['no credit', 0, {}, 402],
    ['more tokens than the credit pays', 0.01, { max_tokens: 16_000 }, 402],
    ['more choices than the credit pays', 0.05, { max_tokens: 1_000, n: 10 }, 402],
  ]
  test.each(rejected)('%s', async (_rule, usd, body, status) => {
    fixture.engine.play(sixWords)
    const [customer, before] = [await fixture.customer(usd), await holdsEver()]
    expect((await fixture.chat(customer, body)).status).toBe(status)
    expect((await fixture.chat(customer, { ...body, stream: true })).status).toBe(status)
    expect([fixture.engine.calls.length, await holdsEver()]).toEqual([0, before])
    expect((await fixture.ledger(customer.account)).charged).toBe(0n)
  })

  test('an unknown key', async () => {
    const before = await holdsEver()
    expect((await fixture.chat({ key: 'fb_unknown', account: '' })).status).toBe(401)
    expect(await holdsEver()).toBe(before)
  })
})

describe('the engine refuses or fails before the first piece of content: the hold is freed', () => {
  const failing: [rule: string, beats: Beat[], status: number][] = [
    ['at once', [{ fail: modelOverloaded() }], 429],
    ['with an error of its own, whose words stay here', [{ fail: new Error(secret) }], 500],
    ['after it said what it used', [{ usage: used(7, 9) }, { fail: inferenceFailed() }], 500],
  ]
  test.each(failing)('%s', async (_rule, beats, status) => {
    for (const stream of [false, true]) {
      fixture.engine.play(beats)
      const customer = await fixture.customer(1)
      const answer = await fixture.chat(customer, { stream })
      expect(answer.status).toBe(status)
      expect(await answer.text()).not.toContain('secret')
      expect((await fixture.ledger(customer.account)).charged).toBe(0n)
    }
    fixture.service.logged.length = 0
  })

  test('after the role of its answer, which is no content', async () => {
    fixture.engine.play([role, { fail: inferenceFailed() }])
    const customer = await fixture.customer(1)
    const answer = await fixture.chat(customer, { stream: true })
    const events = eventsOf(await answer.text())
    expect(JSON.parse(events[1] ?? '')).toMatchObject({ error: { message: 'Inference processing failed' } })
    expect(events.slice(2)).toEqual(['[DONE]'])
    expect((await fixture.ledger(customer.account)).charged).toBe(0n)
  })
})

describe('complete', () => {
  const complete: [rule: string, beats: Beat[], charged: bigint, skus: string[]][] = [
    ['with usage: what it says', [...sixWords, { usage: used(20, 30) }], 320n, ['chat.input', 'chat.output']],
    [
      'without usage: what was delivered and the prompt, counted here and marked so',
      sixWords,
      prompt + 60n,
      ['chat.input.estimated', 'chat.output.estimated'],
    ],
    [
      'with a usage that cannot be: counted here',
      [...sixWords, { usage: used(5, 9e15) }],
      prompt + 60n,
      ['chat.input.estimated', 'chat.output.estimated'],
    ],
    ['with usage and no content: what it says', [role, { usage: used(20, 3) }], 50n, ['chat.input', 'chat.output']],
    [
      'with a usage of nothing beside a text: counted here',
      [...sixWords, { usage: used(0, 0) }],
      prompt + 60n,
      ['chat.input.estimated', 'chat.output.estimated'],
    ],
    [
      'with a usage that leaves out the text: the prompt as it says, the text as it is counted here',
      [...sixWords, { usage: used(20, 0) }],
      80n,
      ['chat.input.estimated', 'chat.output.estimated'],
    ],
  ]
  test.each(complete)('%s', async (_rule, beats, charged, skus) => {
    for (const stream of [false, true]) {
      fixture.engine.play(beats)
      const customer = await fixture.customer(1)
      const answer = await fixture.chat(customer, { stream, stream_options: { include_usage: true } })
      expect(answer.status).toBe(200)
      const text = await answer.text()
      const ledger = await fixture.ledger(customer.account)
      expect([ledger.charged, ledger.skus, ledger.writtenOff]).toEqual([charged, skus, 0n])
      expect(costIn(text, stream)).toEqual({ usd: Number(charged) / 1e6, diem: 0 })
    }
  })

  test('with megabytes of text and no usage: counted in turns with other requests', async () => {
    const text = Array.from({ length: 200_000 }, (_, at) => at.toString(36)).join(' ')
    const began = performance.now()
    await countGenerated(text)
    const countedMs = performance.now() - began
    fixture.engine.play([{ text }])
    const customer = await fixture.customer(1)
    let [last, longestMs] = [performance.now(), 0]
    const look = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last)
      last = performance.now()
    }, 1)
    const answer = await fixture.chat(customer, {})
    clearInterval(look)
    expect(answer.status).toBe(200)
    expect(longestMs).toBeLessThan(countedMs / 3)
  })

  test('with nothing at all: it is not an answer, and free', async () => {
    fixture.engine.play([])
    const customer = await fixture.customer(1)
    expect((await fixture.chat(customer, { stream: true })).status).toBe(500)
    expect((await fixture.ledger(customer.account)).charged).toBe(0n)
    fixture.service.logged.length = 0
  })

  const costIn = (text: string, stream: boolean) => JSON.parse(stream ? (eventsOf(text).at(-2) ?? '') : text).cost
})

describe('the engine dies within its stream', () => {
  test.each([
    ['with a broken connection', inferenceFailed()],
    ['with an error of its own, whose words are neither shown nor charged', new Error(secret.repeat(50))],
  ])('%s: what was delivered is charged, and the stream says so', async (_rule, fail) => {
    fixture.engine.play([role, ...sixWords, { fail }])
    const customer = await fixture.customer(1)
    const answer = await fixture.chat(customer, { stream: true })
    const events = eventsOf(await answer.text())
    expect(events.at(-1)).toBe('[DONE]')
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({
      choices: [{ finish_reason: 'error' }],
      error: { message: 'Inference processing failed', type: 'server_error', param: null, code: null },
    })
    expect(events.join('')).not.toContain('secret')
    // Asked once: content has been delivered, so no second answer may begin.
    expect(fixture.engine.calls.length).toBe(1)
    expect((await fixture.ledger(customer.account)).charged).toBe(prompt + 60n)
  })
})

describe('S4: an engine that uses more than the hold', () => {
  test.each([false, true])('is paid by the service beyond it, and that is booked (stream: %s)', async stream => {
    fixture.engine.play([...sixWords, { usage: used(20, 1_000) }])
    const customer = await fixture.customer(1)
    fixture.service.logged.length = 0
    const answer = await fixture.chat(customer, { stream, max_tokens: 10 })
    await answer.text()
    const ledger = await fixture.ledger(customer.account)
    // The hold: every byte of the prompt, and ten tokens.
    expect(ledger.charged).toBeLessThan(500n)
    expect([ledger.charged + ledger.writtenOff, ledger.units]).toEqual([20n + 10_000n, [20n, 1_000n]])
    expect(fixture.service.logged).toEqual([
      expect.objectContaining({ level: 'warn', facts: expect.objectContaining({ microUsd: `${ledger.writtenOff}` }) }),
    ])
  })

  test('and does not stop is cut off', async () => {
    fixture.engine.play(words(...Array.from({ length: 2_000 }, () => ' more')))
    const customer = await fixture.customer(1)
    const events = eventsOf(await (await fixture.chat(customer, { stream: true, max_tokens: 10 })).text())
    expect(events.length).toBeLessThan(300)
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ choices: [{ finish_reason: 'error' }] })
    expect((await fixture.ledger(customer.account)).charged).toBeLessThan(500n)
  })
})

test('of a hundred calls at once with credit for ten, ten are answered', async () => {
  const answered = Promise.withResolvers<void>()
  fixture.engine.play([{ until: answered.promise }, ...sixWords, { usage: used(20, 10) }])
  const probe = await fixture.customer(1)
  const trial = fixture.chat(probe, { max_tokens: 10 })
  await expect.poll(() => fixture.openHolds()).toBe(1)
  const { amount } = await fixture.service.store.read.selectFrom('hold').select('amount').executeTakeFirstOrThrow()
  const customer = await fixture.customer(Number(amount * 10n) / 1e6)
  let refused = 0
  const calls = Array.from({ length: 100 }, async () => {
    const answer = await fixture.chat(customer, { max_tokens: 10 })
    // Where twenty refusals are counted before the last call arrives, the limit on failures refuses it first.
    if (answer.status === 402 || answer.status === 429) refused++
    return answer
  })
  // While the ten are still under way.
  await expect.poll(() => refused).toBe(90)
  expect(await fixture.openHolds()).toBe(11)
  answered.resolve()
  const statuses = (await Promise.all([trial, ...calls])).map(({ status }) => status)
  expect(statuses.filter(status => status === 200).length).toBe(11)
  expect((await fixture.ledger(customer.account)).charged).toBe(1_200n)
})

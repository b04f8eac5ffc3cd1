/** Work that was done during an outage of the ledger: no answer may invite a caller to buy it twice. */
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'
import { chargeUnknown } from '#contract/errors/errors.ts'
import { type Store, StoreError } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { type ChatFixture, eventsOf, openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { openService } from './open-service.ts'

/** Loses the answer to every commit of such an operation, once it has reached the disk or before. */
function losing(op: Op['op'], isWritten: boolean): (real: Store) => Store {
  return real => ({
    ...real,
    read: real.read,
    prune: (...order) => real.prune(...order),
    close: () => real.close(),
    async commit(units) {
      if (!units.some(({ ops }) => ops.some(each => each.op === op))) return real.commit(units)
      if (isWritten) await real.commit(units)
      throw new StoreError(isWritten ? 'outcome_unknown' : 'unreachable', 'away')
    },
  })
}

async function fixture(isWritten: boolean): Promise<ChatFixture> {
  const opened = await openFixture({ storeBefore: losing('capture', isWritten) })
  onTestFinished(() => opened.service.close())
  opened.engine.play([...words('one', ' two'), { usage: used(10, 2) }])
  return opened
}

test.each([
  ['was written', true, 1],
  ['was not', false, 0],
])(
  'a chat whose charge %s says that nobody knows, and is not to be repeated unseen',
  async (_what, isWritten, charges) => {
    const { service, chat, customer, ledger } = await fixture(isWritten)
    const ada = await customer(1)
    const answer = await chat(ada)
    expect([answer.status, answer.headers.get('x-should-retry'), answer.headers.get('retry-after')]).toEqual([
      500,
      'false',
      null,
    ])
    const body = await answer.json()
    expect(body).toEqual(chargeUnknown().body)
    expect(body).toMatchObject({ code: 'CHARGE_UNKNOWN' })
    expect((await ledger(ada.account)).skus.length > 0).toBe(charges === 1)
    const told = service.logged.filter(({ level }) => level === 'error').map(({ facts }) => facts)
    const cause = expect.objectContaining({ name: 'StoreError', message: 'away' })
    expect(told).toMatchObject([{ err: { name: 'ChargeUnknown', kind: 'outcome_unknown', cause } }])
  },
)

test('a stream with an unknown charge ends with an event that says so, and one log line', async () => {
  const { service, chat, customer } = await fixture(true)
  const events = eventsOf(await (await chat(await customer(1), { stream: true })).text())
  expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: {
      type: 'server_error',
      code: 'CHARGE_UNKNOWN',
      message: expect.stringContaining('may or may not have been charged'),
    },
  })
  expect(events.at(-1)).toBe('[DONE]')
  expect(service.logged.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'A stream could not be ended properly.' },
  ])
})

test('the stock client asks once', async () => {
  const opened = await fixture(true)
  const { key } = await opened.customer(1)
  let asked = 0
  const client = new OpenAI({
    apiKey: key,
    baseURL: 'http://127.0.0.1/api/v1',
    fetch: (_url, init) => {
      asked++
      return opened.service.request('/api/v1/chat/completions', init as RequestInit)
    },
  })
  const messages = [{ role: 'user', content: 'hello' }] as const
  await expect(client.chat.completions.create({ model: 'scripted', messages: [...messages] })).rejects.toMatchObject({
    status: 500,
  })
  expect(asked).toBe(1)
})

test.each([
  ['was written', true, 500, 1],
  ['was not', false, 503, 0],
])('a video that %s before the ledger went', async (_what, isWritten, status, jobs) => {
  const service = await openService({ storeBefore: losing('job', isWritten) })
  onTestFinished(() => service.close())
  const body = { model: 'demo-video', prompt: 'a cat', duration: '5s' }
  const answer = await service.post('/video/queue', body, await service.key(10))
  expect(answer.status).toBe(status)
  expect(await service.store.read.selectFrom('job').select('id').execute()).toHaveLength(jobs)
})

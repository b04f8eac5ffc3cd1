import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { payingFetch } from '#agent/fetch/paying-fetch.ts'
import { sameRefusalMs } from '#wallet/limits.ts'
import { listRefusals } from '#wallet/rules/refusals.ts'
import { start, stop } from '#wallet/rules/stop-switch.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson } from '../client/little-server.ts'
import { gate } from './gate.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from './open-agent.ts'
import { creditRequired, type PretendOptions, pretendService } from './pretend-service.ts'

/** Each step is a commit that is synced, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

const minuteMs = 60_000
/** Refills need no approval, and no cap is near. */
const settings = { refillBelowUsd: '1', refillByUsd: '5', askAboveUsd: '9', maxDayUsd: '30', maxTotalUsd: '60' }

/** A service where 0.5 USD of credit are left, and agents on one journal with a clock that its tests move. */
async function setUp(service: PretendOptions = {}, options: Partial<AgentSetUp> = {}) {
  const server = await pretendService({ credit: 0.5, ...service })
  onTestFinished(server.close)
  let nowMs = Date.UTC(2026, 10, 22)
  const dataFolder = temporaryFolder()
  const open = async () => {
    const clock = { now: () => nowMs }
    const agent = await openAgent({
      ...{ baseUrl: server.baseUrl, dataFolder, clock },
      ...options,
      settings: { ...settings, ...options.settings },
    })
    onTestFinished(agent.close)
    return agent
  }
  const agent = await open()
  let calls = 0
  return {
    ...{ agent, open, server },
    /** One paid call, and then the refill that it started; nothing else waits for the answer. */
    async chat(of = agent) {
      await of.chat(`call ${++calls}`, true)
      await of.refills.settled()
    },
    wait: (ms: number) => {
      nowMs += ms
    },
    signed: () => new Set(server.ledger.signatures).size,
    looks: () => server.countOf('/x402/top-up') - server.ledger.signatures.length,
    payments: async () => (await agent.wallet?.receipts(99))?.map(({ occasion, state }) => `${occasion} ${state}`),
    refusals: () => agent.records.read(() => listRefusals(99)),
    refill: async () => (await agent.wallet?.status())?.refill,
  }
}

test('credit below the first amount is refilled by the second, once', async () => {
  const { chat, wait, payments, server, refill } = await setUp()
  await chat()
  expect(await payments()).toEqual(['refill confirmed'])
  expect(server.ledger.credit).toBeCloseTo(5.499)
  wait(10 * minuteMs)
  for (let time = 0; time < 3; time++) await chat()
  expect(await payments()).toHaveLength(1)
  expect(await refill()).toEqual({
    belowMicroUsd: 1_000_000n,
    byMicroUsd: 5_000_000n,
    isHalted: false,
    note: null,
    againAtMs: null,
  })
})

test('a refill that one dear call uses up was seen all the same', async () => {
  const { agent, chat, wait, payments, refill } = await setUp({ quote: 4.8 })
  await chat()
  wait(2 * minuteMs)
  await agent.video()
  await agent.refills.settled()
  expect(await refill()).toMatchObject({ isHalted: false, note: null })
  await chat()
  expect(await payments()).toEqual(['refill confirmed', 'refill confirmed'])
})

test('credit that was used up again is refilled again', async () => {
  const { chat, wait, payments, server } = await setUp()
  await chat()
  wait(1_000)
  await chat()
  server.ledger.credit = 0.7
  wait(minuteMs)
  await chat()
  expect(await payments()).toEqual(['refill confirmed', 'refill confirmed'])
})

test.each([
  ['Sign exactly accepted.amount', { credit: 1.001 }, {}],
  ['an API key, which is never topped up', {}, { apiKey: canaryApiKey }],
  ['no setting', {}, { settings: { refillBelowUsd: undefined, refillByUsd: undefined } }],
])('nothing is refilled with %s', async (_, service, options) => {
  const { chat, signed, looks } = await setUp(service, options)
  await chat()
  expect([signed(), looks()]).toEqual([0, 0])
})

test('nothing is refilled at a start, nor by calls that are free', async () => {
  const { agent, server } = await setUp()
  await agent.context().wallet.status()
  await agent.refills.settled()
  expect(server.countOf('/x402/top-up')).toBe(0)
})

test('a burst of calls refills once, and so do two agents on one journal', async () => {
  const { chat, open, wait, payments, server, agent, refusals } = await setUp({ credit: 0.9 })
  const other = await open()
  const burst = () => Promise.all(Array.from({ length: 12 }, (_, n) => chat(n % 2 === 0 ? agent : other)))
  await burst()
  expect(await payments()).toEqual(['refill confirmed'])
  wait(1_000)
  await burst()
  server.ledger.credit = 0.9
  wait(minuteMs)
  await burst()
  expect(await payments()).toEqual(['refill confirmed', 'refill confirmed'])
  expect(await refusals()).toEqual([])
})

test('a balance from before a payment is not used after it', async () => {
  const held = gate()
  const { agent, chat, wait, payments, refill } = await setUp({
    instead: async seen => {
      if (seen.body.includes('held')) await held.passed
      return false
    },
  })
  // Its request is sent before the refill of the other, and its answer comes after; the next call sees the credit.
  const early = agent.chat('held', true)
  await chat()
  wait(5 * minuteMs)
  held.open()
  await early
  await agent.refills.settled()
  expect(await payments()).toEqual(['refill confirmed'])
  expect(await refill()).toMatchObject({ isHalted: false })
})

test('above the threshold the user is asked, and the call continues', async () => {
  const { chat, wait, agent, signed, refill } = await setUp({}, { settings: { askAboveUsd: '1' } })
  await chat()
  wait(minuteMs)
  await chat()
  const pending = await agent.approvals.list('pending')
  expect(pending).toMatchObject([{ facts: { kind: 'spend', what: expect.stringMatching(/^A refill of 5.00 USD/) } }])
  expect([signed(), (await refill())?.note]).toEqual([0, 'It needs the user’s approval.'])
  await agent.approvals.resolve(pending[0]?.id ?? '', { isApproved: true, by: 'a test' })
  wait(minuteMs)
  await chat()
  expect(signed()).toBe(1)
})

test('a user who denies it is not asked again for a day', async () => {
  const { chat, wait, agent, signed, refusals } = await setUp({}, { settings: { askAboveUsd: '1' } })
  await chat()
  const [question] = await agent.approvals.list('pending')
  await agent.approvals.resolve(question?.id ?? '', { isApproved: false, by: 'a test' })
  for (let time = 0; time < 10; time++) {
    wait(minuteMs)
    await chat()
  }
  expect([signed(), await agent.approvals.list('pending')]).toEqual([0, []])
  expect(await refusals()).toMatchObject([{ rule: 'denied', operation: 'topUpX402Balance', times: 2 }])
})

test('one that a cap refuses is one refusal an hour, fails no call and asks the service nothing more', async () => {
  const { chat, wait, refusals, signed, looks, refill } = await setUp({}, { settings: { maxDayUsd: '4' } })
  for (let time = 0; time < 10; time++) {
    await chat()
    wait(minuteMs)
  }
  expect(await refusals()).toMatchObject([{ rule: 'max-day', times: 1, amountMicroUsd: 5_000_000n }])
  expect([signed(), looks()]).toEqual([0, 1])
  expect((await refill())?.note).toMatch(/cap of 4\.00 USD in 24 hours/)
  wait(sameRefusalMs)
  await chat()
  expect(await refusals()).toHaveLength(2)
})

test('a dry run says what it would have done', async () => {
  const { chat, signed, refill, refusals, agent } = await setUp({}, { settings: { dryRun: true } })
  await chat()
  expect([signed(), await refusals()]).toEqual([0, []])
  expect((await refill())?.note).toMatch(/^Dry run: 5\.00 USD would have been paid to /)
  expect((await agent.context().wallet.status()).next).toMatch(/The last refill reported: Dry run/)
})

test('a wallet that is stopped while a call is in flight refills nothing', async () => {
  const held = gate()
  const { agent, signed, looks, refusals } = await setUp({
    instead: async seen => {
      if (seen.path.endsWith('/chat/completions')) await held.passed
      return false
    },
  })
  const calling = agent.chat()
  await held.reached
  await agent.records.decide(nowMs => stop('a test', nowMs))
  held.open()
  await calling
  await agent.refills.settled()
  expect([signed(), looks(), await refusals()]).toEqual([0, 0, []])
})

test('soon after a payment nothing is refilled', async () => {
  const { chat, wait, payments } = await setUp({ credit: 0 }, { settings: { refillBelowUsd: '50' } })
  await chat()
  wait(minuteMs - 1)
  await chat()
  expect(await payments()).toEqual(['after-402 confirmed'])
  wait(1)
  await chat()
  expect(await payments()).toEqual(['refill confirmed', 'after-402 confirmed'])
})

const dearer: PretendOptions = { quote: 6 }

test.each([0, 5_000, 15_000])('a refill %d ms ago does not keep a dearer call from paying what it lacks', async ms => {
  const { chat, wait, payments, agent, server } = await setUp(dearer, { settings: { maxPaymentUsd: '9' } })
  await chat()
  wait(ms)
  await agent.video()
  expect(await payments()).toEqual(['after-402 confirmed', 'refill confirmed'])
  expect(server.ledger.videos).toBe(1)
  // A payment for one call keeps the next from paying soon after it, as ever.
  wait(15_000)
  await expect(agent.video('another')).rejects.toThrow('has just paid')
})

test('one that does not show in what the 402 tells does, and so it does where refilling has stopped', async () => {
  let told: number | undefined
  const { chat, wait, payments, agent, refill } = await setUp(
    {
      ...dearer,
      told: () => told ?? 0.5,
      instead: (seen, response) => {
        if (!seen.path.endsWith('/video/queue')) return false
        answerJson(response, 402, creditRequired(told ?? 0.5, 6))
        return true
      },
    },
    { settings: { maxPaymentUsd: '9' } },
  )
  await chat()
  wait(15_000)
  await expect(agent.video()).rejects.toThrow('has just paid')
  await chat()
  expect(await refill()).toMatchObject({ isHalted: true })
  told = 5.5
  await expect(agent.video('another')).rejects.toThrow('has just paid')
  expect(await payments()).toEqual(['refill confirmed'])
})

test('while a refill has no answer, no second one is made', async () => {
  const { chat, wait, payments, signed } = await setUp({
    payments: ['lose after', 'lose after', 'lose after', 'credit'],
  })
  await chat()
  expect(await payments()).toEqual(['refill unknown'])
  wait(minuteMs)
  await chat()
  expect([await payments(), signed()]).toEqual([['refill unknown'], 1])
}, 30_000)

describe('a service that says 0 whatever is paid', () => {
  const lying: PretendOptions = { credit: 50, told: () => 0 }

  test('is refilled once, and then not before the owner has checked', async () => {
    const { chat, wait, payments, refusals, refill, agent } = await setUp(lying)
    for (let time = 0; time < 20; time++) {
      await chat()
      wait(2 * minuteMs)
    }
    expect(await payments()).toEqual(['refill confirmed'])
    expect(await refill()).toMatchObject({ isHalted: true })
    expect(await refusals()).toMatchObject([{ rule: 'refill-unseen', times: 1 }])
    expect((await agent.context().wallet.status()).next).toMatch(/did not show up as credit: 0\.00 USD before it/)
    await agent.records.decide(start)
    expect(await refill()).toMatchObject({ isHalted: false, note: null })
    for (let time = 0; time < 5; time++) {
      await chat()
      wait(2 * minuteMs)
    }
    expect(await payments()).toHaveLength(2)
  })

  test('and neither where it grants a little of it', async () => {
    let said = 0
    const more = () => {
      said += 0.01
      return said
    }
    const { chat, wait, payments } = await setUp({ credit: 50, told: more })
    for (let time = 0; time < 20; time++) {
      await chat()
      wait(2 * minuteMs)
    }
    expect(await payments()).toHaveLength(1)
  })

  test('gets no more than the day allows where it shows each refill once', async () => {
    let call = 0
    const { chat, wait, payments } = await setUp(
      { credit: 50, told: () => (call++ % 2 === 0 ? 0 : 9) },
      { settings: { maxDayUsd: '10' } },
    )
    for (let time = 0; time < 40; time++) {
      await chat()
      wait(minuteMs)
    }
    expect(await payments()).toEqual(['refill confirmed', 'refill confirmed'])
  })
})

test('programs that call by fetch have it too', async () => {
  const { agent, server, payments } = await setUp()
  const fetch = payingFetch(agent, { takesConsents: true })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${server.baseUrl}/chat/completions`, { method: 'POST', headers, body })).status).toBe(200)
  await agent.refills.settled()
  expect(await payments()).toEqual(['refill confirmed'])
})

import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { claimLeaseMs } from '#service/http/idempotency/replayed-answer.ts'
import { used, words } from '../../chat-script.ts'
import {
  type Ask,
  charges,
  claims,
  closeAll,
  gate,
  holds,
  type KeyFixture,
  looksPass,
  openKeyFixture,
} from './key-fixture.ts'

let fixtures: KeyFixture[]
beforeEach(() => {
  fixtures = []
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await closeAll(fixtures)
})

async function open(options: Parameters<typeof openKeyFixture>[0]): Promise<KeyFixture> {
  const fixture = await openKeyFixture(options)
  fixtures.push(fixture)
  return fixture
}

const requests: [what: string, ask: Ask][] = [
  ['a video', { path: '/video/queue' }],
  ['a whole answer', {}],
  ['a stream', { body: { stream: true } }],
]

test.each(requests)(
  'of 1,000 twins of %s in two processes one works, and all that are answered get its bytes',
  async (_what, ask) => {
    const first = await open({ soleOwner: false })
    const second = await open({ beside: first, soleOwner: false })
    const bearer = await first.opened.key(10)
    const twins = Array.from({ length: 1_000 }, async (_, twin) => {
      const response = await (twin % 2 ? first : second).ask(bearer, { key: 'one', ...ask })
      return { status: response.status, text: await response.text() }
    })
    const answers = await Promise.all(twins)
    // Beyond 20 answers without success a caller is blocked for a while, twins or not.
    expect(
      [...new Set(answers.map(answer => answer.status))].filter(status => ![200, 409, 429].includes(status)),
    ).toEqual([])
    const bodies = new Set(answers.filter(answer => answer.status === 200).map(answer => answer.text))
    expect(bodies.size).toBe(1)
    expect(await charges(first)).toHaveLength(1)
    expect(first.chat.calls.length + second.chat.calls.length).toBe(ask.path ? 0 : 1)
    expect(await first.opened.store.read.selectFrom('job').select('id').execute()).toHaveLength(ask.path ? 1 : 0)
    expect(await claims(first)).toHaveLength(1)
    expect((await audit(first.opened.database)).findings).toEqual([])
  },
)

/** What may happen to requests with one key, in any order. */
type Step =
  | { do: 'ask'; process: 0 | 1 }
  | { do: 'ask and leave'; process: 0 | 1; events: number }
  | { do: 'let the engine go on' }
  | { do: 'pass a lease' }
  | { do: 'kill'; process: 0 | 1 }
  | { do: 'settle' }

const which = fc.constantFrom(0 as const, 1 as const)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), process: which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('ask and leave' as const), process: which, events: fc.nat(4) }),
  },
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'let the engine go on' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'pass a lease' }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), process: which }) },
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'settle' }) },
)

/** Two processes of one store, of which either is replaced when it is killed. */
class World {
  readonly #processes: KeyFixture[] = []
  readonly #all: KeyFixture[] = []
  readonly #gates: ReturnType<typeof gate>[] = []
  readonly whole: string[] = []
  readonly #body: object
  readonly #bearer: string
  #made = 0
  #finishing = false

  private constructor(first: KeyFixture, bearer: string, body: object) {
    this.#processes.push(first)
    this.#all.push(first)
    this.#bearer = bearer
    this.#body = body
  }

  static async open(body: object): Promise<World> {
    const first = await openKeyFixture({ soleOwner: false })
    const world = new World(first, await first.opened.key(10), body)
    world.#script(first)
    await world.#replace(1)
    return world
  }

  /** Every piece of work gives another text, so that two of them can be told apart. */
  #script(fixture: KeyFixture): void {
    const { until, open } = gate()
    this.#gates.push({ until, open })
    const name = `work ${++this.#made} `
    const wait = this.#finishing ? [] : [{ until }]
    fixture.chat.play([...words(name, 'goes '), ...wait, { text: `on ${name}` }, { usage: used(5, 3) }])
  }

  async #replace(at: 0 | 1): Promise<void> {
    const first = this.#all[0]
    if (!first) throw new Error('The first process is there before any other.')
    const fixture = await openKeyFixture({ beside: first, soleOwner: false })
    this.#script(fixture)
    this.#processes[at] = fixture
    this.#all.push(fixture)
  }

  async run(next: Step): Promise<void> {
    switch (next.do) {
      case 'ask':
        return void this.#ask(next.process, Number.POSITIVE_INFINITY)
      case 'ask and leave':
        return void this.#ask(next.process, next.events)
      case 'let the engine go on':
        return this.#go()
      case 'pass a lease':
        return this.#all[0]?.opened.clock.pass(claimLeaseMs + 1)
      case 'kill': {
        const killed = this.#processes[next.process]
        if (killed) killed.store.dead = true
        return this.#replace(next.process)
      }
      case 'settle':
        return new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  #go(): void {
    for (const { open } of this.#gates.splice(0)) open()
    for (const fixture of this.#processes) this.#script(fixture)
  }

  async #ask(at: 0 | 1, events: number): Promise<void> {
    const fixture = this.#processes[at]
    const response = await fixture?.ask(this.#bearer, { key: 'one', body: this.#body }).catch(() => null)
    if (response?.status !== 200) return
    const reader = response.body?.getReader()
    let text = ''
    for (let event = 0; event < events; event++) {
      const piece = await reader?.read().catch(() => null)
      // Broken off: no answer.
      if (!piece) return
      if (piece.done) return void this.whole.push(text)
      text += Buffer.from(piece.value).toString()
    }
    await reader?.cancel()
  }

  /** Lets everything that lives come to its end, then asks once more. */
  async finish(): Promise<{ last: string; charged: bigint[]; held: unknown[]; findings: unknown[] }> {
    const [live = this.#all[0]] = this.#processes
    if (!live) throw new Error('A process is always there.')
    this.#finishing = true
    this.#go()
    let last: Response | null = null
    for (let attempt = 0; attempt < 20 && last?.status !== 200; attempt++) {
      await new Promise(resolve => setTimeout(resolve, 5))
      live.opened.clock.pass(claimLeaseMs + 1)
      last = await live.ask(this.#bearer, { key: 'one', body: this.#body })
    }
    const text = (await last?.text()) ?? ''
    live.opened.clock.pass(claimLeaseMs + 1)
    await looksPass(live)
    await expect.poll(() => holds(live)).toEqual([])
    const { findings } = await audit(this.#all[0]?.opened.database ?? '')
    return { last: text, charged: await charges(live), held: await holds(live), findings }
  }

  close = () => closeAll(this.#all)
}

test.each([
  ['streams', { stream: true }],
  ['whole answers', {}],
] as const)(
  '%s: whatever happens to twins of two processes, one charge, and the same bytes for all',
  async (_what, body) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async steps => {
        const world = await World.open(body)
        try {
          for (const next of steps) await world.run(next)
          const { last, charged, findings } = await world.finish()
          expect(last).toContain('work')
          expect(charged).toHaveLength(1)
          expect([...new Set([...world.whole, last])]).toEqual([last])
          expect(findings).toEqual([])
        } finally {
          await world.close()
        }
      }),
      { numRuns: 8 },
    )
  },
  180_000,
)

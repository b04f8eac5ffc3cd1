import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { countTokens, RunningCount } from '#engines/tokens/count-tokens.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { audit } from '#ledger/audit/audit.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Line } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { ChatPlan } from '#service/capabilities/chat/chat-plan.ts'
import { StreamUsage } from '#service/capabilities/chat/chat-usage.ts'
import { checkVideo, priceVideo, settledRequest } from '#service/capabilities/video/quote-video.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { textModel, videoModel } from '../models/example-models.ts'
import { TestClock } from '../open-service.ts'

describe('what a hold comes to', () => {
  const clock = new TestClock()
  let folder: string
  let store: Store
  let accounts = 0
  beforeAll(async () => {
    folder = temporaryFolder('charges')
    store = await openSqliteStore({ path: join(folder, 'farebox.db') })
  })
  afterAll(async () => {
    const report = await audit(join(folder, 'farebox.db'))
    expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
    await store.close()
  })

  async function customer(credit: bigint): Promise<Principal> {
    const account = `customer:${accounts++}`
    const atMs = clock.now()
    const grant = { account, amount: microUsd(credit), source: 'system:grant', ref: `grant:${account}`, atMs } as const
    const key = {
      key: `key:${account}`,
      account,
      hash: account,
      prefix: '',
      label: '',
      expiresAtMs: null,
      atMs,
    } as const
    const [outcome] = await store.commit([
      {
        id: uuidV7(atMs),
        ops: [
          { op: 'account', account, kind: 'customer', atMs },
          ...(credit > 0n ? [{ op: 'credit', ...grant } as const] : []),
          { op: 'key', ...key },
        ],
      },
    ])
    expect(outcome?.ok).toBe(true)
    return { kind: 'key', account, keyId: key.key, plan: 'default' }
  }

  const amount = fc.bigInt({ min: 0n, max: 2_000n })
  const line = (units: bigint): Line => ({
    sku: 'test',
    units,
    unitPricePicoUsd: 1_000_000n,
    amount: microUsd(units),
  })

  test('is never more than was held, what is beyond it is written off, and together they are what was used', async () => {
    const property = fc.asyncProperty(
      fc.record({
        credit: amount,
        hold: amount,
        grown: amount,
        more: amount,
        used: fc.array(amount, { maxLength: 4 }),
      }),
      async ({ credit, hold, grown, more, used }) => {
        const principal = await customer(credit)
        let writtenOff = 0n
        const charges = new Charges({
          store,
          clock,
          owner: 'test',
          funding: new Funding({ store, clock }),
          onWriteOff: (_, lost) => {
            writtenOff += lost
          },
        })
        const request = uuidV7(clock.now())
        const order = { request, principal, model: null, amount: microUsd(hold), most: microUsd(hold + more) }
        if (hold > credit) {
          await expect(charges.open(order)).rejects.toThrow('does not cover')
          return
        }
        const charge = await charges.open(order)
        await charge.extend(microUsd(grown))
        expect(charge.heldMicroUsd).toBeLessThanOrEqual(hold + more)
        expect(charge.heldMicroUsd).toBeLessThanOrEqual(credit)
        const sum = used.reduce((all, each) => all + each, 0n)
        const charged = await charge.capture(used.map(line))
        expect(charged.staking).toBe(0n)
        expect(charged.usd + writtenOff).toBe(sum)
        expect(charged.usd).toBeLessThanOrEqual(charge.heldMicroUsd)
        expect(charges.writeOffs.microUsd).toBe(writtenOff)
        // Nothing is lost while the order and the credit would have covered it.
        if (sum <= hold + more && sum <= credit) expect(writtenOff).toBe(0n)
        if (charged.availableMicroUsd !== null) expect(charged.availableMicroUsd).toBe(credit - charged.usd)
        await charges.drain()
      },
    )
    await fc.assert(property, { numRuns: 150 })
  })
})

describe('tokens of a text that is still coming', () => {
  const word = fc.stringMatching(/^[a-zA-Z]{1,14}$/)
  const text = fc.array(fc.oneof(word, fc.constantFrom('日本語', 'naïve', '3.14159', 'don’t', 'a,b', '🚤')), {
    maxLength: 120,
  })

  /** Pieces that a text is cut into. */
  function sizesOf(whole: string, sizes: readonly number[]): number {
    let pieces = 0
    for (let at = 0; at < whole.length; pieces++) at += sizes[pieces % sizes.length] ?? 1
    return pieces
  }

  test('never fall, and are those of the text or of its pieces in the end, whichever are more', () => {
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (words, sizes) => {
        const whole = words.join(' ')
        const count = new RunningCount()
        let before = 0
        for (let at = 0, turn = 0; at < whole.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1
          count.push(whole.slice(at, at + size))
          at += size
          expect(count.soFar).toBeGreaterThanOrEqual(before)
          expect(count.soFar).toBeGreaterThan(0)
          before = count.soFar
        }
        expect(count.whole).toBeGreaterThanOrEqual(before)
        // However its tokenizer cuts a text, no engine sends more pieces than it made tokens.
        const pieces = sizesOf(whole, sizes)
        expect(count.whole).toBeGreaterThanOrEqual(Math.max(countTokens(whole), pieces))
        expect(count.whole).toBeLessThanOrEqual(
          countTokens(whole) + pieces + [...whole.matchAll(/[^\p{L}\s]/gu)].length,
        )
      }),
      { numRuns: 200 },
    )
  })

  test('a charge never falls with another piece of content', () => {
    const plan = {
      model: textModel(),
      options: { searchesX: false },
      request: { model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }] },
    } as unknown as ChatPlan
    fc.assert(
      fc.property(fc.array(fc.tuple(word, fc.nat(2)), { minLength: 1, maxLength: 60 }), pieces => {
        const tab = new StreamUsage(plan, new TestClock())
        let before = -1n
        for (const [piece, index] of pieces) {
          const choices = [{ index, delta: { content: ` ${piece}` } }]
          tab.read({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'x', choices })
          const owed = tab.lines().reduce((sum, line) => sum + line.amount, 0n)
          expect(owed).toBeGreaterThanOrEqual(before)
          expect(owed).toBeGreaterThan(0n)
          before = owed
        }
      }),
      { numRuns: 100 },
    )
  })
})

test('a video is charged what was quoted for it', () => {
  const model = videoModel()
  const { durations, resolutions, aspect_ratios } = model.constraints
  const asked = fc.record({
    duration: fc.constantFrom(...durations),
    resolution: fc.option(fc.constantFrom(...(resolutions ?? [])), { nil: undefined }),
    aspect_ratio: fc.option(fc.constantFrom(...(aspect_ratios ?? [])), { nil: undefined }),
    audio: fc.option(fc.boolean(), { nil: undefined }),
  })
  fc.assert(
    fc.property(asked, settings => {
      const request = VideoQueueRequest.parse({ model: model.id, prompt: 'Fog', ...settings })
      checkVideo(model, request)
      const quoted = priceVideo(model, request)
      // What is kept of the request has its settings written out; it must cost the same.
      const charged = priceVideo(model, settledRequest(model, request))
      expect(charged).toEqual(quoted)
      expect(quoted.lines.reduce((sum, line) => sum + line.amount, 0n)).toBe(quoted.total)
      expect(quoted.total).toBeGreaterThan(0n)
    }),
  )
})

import { describe, expect, test } from 'vitest'
import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

function setUp(limit?: number) {
  const clock = new ManualClock(noonMs)
  const block = new AbuseBlock(clock, limit)
  const fail = (times: number, subject = 'ada') => {
    for (let each = 0; each < times; each++) block.count(subject)
  }
  return { clock, block, fail }
}

function refusalOf(block: AbuseBlock, subject = 'ada'): ServiceError | null {
  try {
    block.check(subject)
    return null
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}

describe('§7.3: more than 20 failures within 30 s block for 30 s', () => {
  test('20 do not block, the 21st does', () => {
    const { block, fail } = setUp()
    fail(20)
    expect(refusalOf(block)).toBeNull()
    fail(1)
    expect(refusalOf(block)).toMatchObject({
      status: 429,
      body: {
        error: 'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.',
      },
      headers: { 'x-ratelimit-reset-requests': `${noonMs / 1000 + 30}`, 'retry-after': '30' },
    })
  })

  test('a failure counts for 30 s', () => {
    const { clock, block, fail } = setUp()
    fail(1)
    clock.advance(29_999)
    fail(19)
    clock.advance(1)
    fail(1)
    expect(refusalOf(block)).toBeNull()
    fail(1)
    expect(refusalOf(block)).not.toBeNull()
  })

  test('the block ends after 30 s, and counting starts again at zero', () => {
    const { clock, block, fail } = setUp()
    fail(21)
    clock.advance(29_999)
    expect(refusalOf(block)).not.toBeNull()
    clock.advance(1)
    expect(refusalOf(block)).toBeNull()
    fail(20)
    expect(refusalOf(block)).toBeNull()
  })

  test('neither a block nor a failure outlasts a clock that is set back by an hour', () => {
    const { clock, block, fail } = setUp()
    fail(21)
    fail(20, 'bob')
    clock.advance(-3_600_000)
    expect(refusalOf(block)).toBeNull()
    expect(block.blocked()).toEqual([])
    fail(20)
    fail(1, 'bob')
    expect([refusalOf(block), refusalOf(block, 'bob')]).toEqual([null, null])
  })

  test('requests that end during the block do not lengthen it', () => {
    const { clock, block, fail } = setUp()
    fail(21)
    clock.advance(20_000)
    fail(100)
    clock.advance(10_000)
    expect(refusalOf(block)).toBeNull()
    fail(20)
    expect(refusalOf(block)).toBeNull()
  })

  test('a lifted block ends at once, and counting starts again at zero', () => {
    const { block, fail } = setUp()
    fail(21)
    expect(block.blocked()).toEqual([{ subject: 'ada', untilMs: noonMs + 30_000 }])
    block.lift('ada')
    expect([refusalOf(block), block.blocked()]).toEqual([null, []])
    fail(20)
    expect(refusalOf(block)).toBeNull()
  })

  test('callers are counted apart', () => {
    const { block, fail } = setUp()
    fail(21, 'eve')
    expect(refusalOf(block, 'eve')).not.toBeNull()
    expect(refusalOf(block, 'ada')).toBeNull()
  })
})

test('memory is bounded: the caller with the oldest failure is forgotten', () => {
  const { block, fail } = setUp(2)
  fail(21, 'ada')
  fail(1, 'bob')
  fail(1, 'eve')
  expect(refusalOf(block, 'ada')).toBeNull()
  fail(20, 'eve')
  expect(refusalOf(block, 'eve')).not.toBeNull()
})

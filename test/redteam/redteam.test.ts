import { beforeAll, describe, expect, test } from 'vitest'
import { campaign } from './campaign.ts'
import type { Row } from './row.ts'
import { line, summary, verdict } from './verdict.ts'

/** Every fixture through one of the doors; `npm run redteam` goes through all of them and adds processes. */
let rows: Row[] = []
beforeAll(async () => {
  rows = await campaign({ isQuick: true, hasProcesses: false })
}, 600_000)

const of = (part: Row['part']) => rows.filter(row => row.part === part)

describe('the wallet against services that want more than their due', () => {
  test('signs nothing that was not authorized, and tells no secret', () => {
    expect(verdict(rows).wrong.map(line)).toEqual([])
    expect(verdict(rows).wrongUsd).toBe(0)
  })

  test('refuses by the rule that is meant, and pays every control', () => {
    expect(verdict(rows).failed.map(line)).toEqual([])
    expect(of('control').filter(({ outcome }) => outcome !== 'authorized')).toEqual([])
  })

  test('has met every public scenario, and at the top-up on both rails', () => {
    const count = (part: Row['part'], rail: Row['rail']) => of(part).filter(row => row.rail === rail).length
    expect(new Set(of('corpus').map(({ id }) => id)).size).toBe(48)
    expect([count('corpus', 'evm'), count('corpus', 'svm')]).toEqual([18, 30])
    expect([count('top-up', 'evm'), count('top-up', 'svm')]).toEqual([39, 36])
    expect(new Set(of('corpus').map(({ category }) => category)).size).toBe(16)
    expect([count('facilitator', 'evm'), count('facilitator', 'svm')]).toEqual([7, 7])
    expect([count('own', 'evm'), count('own', 'svm')]).toEqual([5, 5])
    expect([count('control', 'evm'), count('control', 'svm')]).toEqual([13, 13])
  })

  test('what this wallet does not do is counted apart and said', () => {
    expect(of('corpus-control').map(({ outcome }) => outcome)).toEqual(Array(8).fill('not supported'))
    const text = summary(rows).join('\n')
    expect(text).toContain('no result')
    expect(text).toContain('INVALID')
  })
})

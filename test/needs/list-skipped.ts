import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { inWords, lackingOf } from './needs.ts'

/** Ends a run with what was skipped: how many tests for each need, and the command that brings it. */
export default class ListSkipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap(({ children }) => [...children.allTests('skipped')])
    for (const line of linesOf(skipped.map(entryOf))) process.stdout.write(`${line}\n`)
  }
}

export interface Skipped {
  title: string
  /** Null for a test that names no need. */
  why: string | null
}

function entryOf(test: TestCase): Skipped {
  const lacking = lackingOf(test.tags)
  const result = test.result()
  const note = result.state === 'skipped' ? result.note : undefined
  return {
    title: `${test.module.relativeModuleId} > ${test.fullName}`,
    why: lacking.length ? inWords(lacking) : (note ?? null),
  }
}

/** The most frequent need first; a test that names none is told by its title. */
export function linesOf(skipped: readonly Skipped[]): string[] {
  if (skipped.length === 0) return []
  const byNeed = Map.groupBy(
    skipped.filter(({ why }) => why !== null),
    ({ why }) => why,
  )
  const counts = [...byNeed].map(([why, tests]) => ({ why, count: tests.length })).sort((a, b) => b.count - a.count)
  return [
    `Skipped tests: ${skipped.length}`,
    ...counts.map(({ why, count }) => `${`${count}`.padStart(6)}  ${why}`),
    ...skipped.flatMap(({ title, why }) => (why === null ? [`        without a reason: ${title}`] : [])),
    ...(counts.length ? ['With FAREBOX_TEST_ALL=1 they fail instead.'] : []),
  ]
}

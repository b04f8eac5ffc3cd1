import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HttpServing } from '#mcp/http/serve.ts'
import { type Product, spawnProduct } from './spawn-product.ts'
import { onTheProduct, revisions, runRevision, runScenario, serveFixtures } from './suite.ts'

describe('the protocol’s own suite, on our frame', { tags: ['protocol'] }, () => {
  let served: HttpServing
  beforeAll(async () => {
    served = await serveFixtures(() => {})
  })
  afterAll(() => served?.close())

  test.each(revisions)(
    'every scored scenario of %s passes, without a warning',
    async revision => {
      const results = await runRevision(served.url, revision)
      const scored = results.filter(({ isScored }) => isScored)
      expect(scored.length).toBe({ '2025-11-25': 30, '2026-07-28': 37 }[revision])
      expect(scored.filter(({ faults, warnings }) => faults.length + warnings.length > 0)).toEqual([])
      // Not scored, as extensions are: of its ten the suite itself leaves out the one of notifications.
      const tasks = results.filter(({ scenario }) => scenario.startsWith('tasks-'))
      expect(tasks.filter(({ faults, warnings }) => faults.length + warnings.length > 0)).toEqual([])
      expect(tasks.filter(({ passed }) => passed > 0).length).toBe({ '2025-11-25': 0, '2026-07-28': 9 }[revision])
    },
    180_000,
  )
})

describe('the same without fixtures, on farebox mcp --http', { tags: ['protocol'] }, () => {
  let product: Product
  beforeAll(async () => {
    product = await spawnProduct()
  }, 60_000)
  afterAll(() => product?.close(), 60_000)

  test.each(onTheProduct)(
    '%s %s',
    async (revision, scenario) => {
      const { faults, passed } = await runScenario(product.openUrl, revision, scenario, { lacksFixtures: true })
      expect([faults, passed > 0]).toEqual([[], true])
    },
    60_000,
  )
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStand, type Stand } from './contract-service.ts'
import { drive } from './drive.ts'
import { publishedOperations } from './published-contract.ts'
import { recipes } from './recipes.ts'

let stand: Stand
beforeAll(async () => {
  stand = await openStand()
})
afterAll(() => stand.close())

test('48 operations are published, and each has a recipe', () => {
  const ids = publishedOperations.map(({ id }) => id)
  expect([ids.length, new Set(ids).size]).toEqual([48, 48])
  expect(Object.keys(recipes).sort()).toEqual(ids.sort())
})

test.each(publishedOperations.map(published => [`${published.method} ${published.path}`, published] as const))(
  '%s answers as published',
  async (_name, published) => {
    const { state, faults } = await drive(published, recipes[published.id], stand)
    expect([state, faults]).toEqual(['fits', []])
  },
)

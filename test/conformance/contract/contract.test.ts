import { afterAll, beforeAll, expect, test } from 'vitest'
import { drive } from './drive.ts'
import { publishedOperations } from './published-contract.ts'
import { recipes } from './recipes.ts'
import { openStand, type Stand } from './stand.ts'

let stand: Stand
beforeAll(async () => {
  stand = await openStand()
})
afterAll(() => stand.close())

test('48 operations are published, and each recipe is of one of them', () => {
  const ids = publishedOperations.map(({ id }) => id)
  expect([ids.length, new Set(ids).size]).toEqual([48, 48])
  expect(Object.keys(recipes).filter(id => !ids.includes(id))).toEqual([])
})

const driven = publishedOperations.filter(({ id }) => recipes[id])
test.each(driven.map(published => [`${published.method} ${published.path}`, published] as const))(
  '%s answers as published',
  async (_name, published) => {
    const { state, faults } = await drive(published, recipes[published.id], stand)
    expect([state, faults]).toEqual(['fits', []])
  },
)

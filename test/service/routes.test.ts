import { expect, test } from 'vitest'
import { operations } from '#contract/operations/operations.ts'
import { routes } from '#service/capabilities/routes.ts'

test('every operation of the contract has its route, in the same order', () => {
  expect(routes.map(route => route.operation.id)).toEqual(operations.map(operation => operation.id))
})

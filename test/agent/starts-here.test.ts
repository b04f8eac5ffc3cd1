import { expect, test } from 'vitest'
import { howToHaveService } from '#agent/words/explain.ts'

test('a service of this machine is offered only where its chain is installed', () => {
  expect(howToHaveService(specifier => `/there/${specifier}`)).toContain('`farebox up`')
  const without = howToHaveService(() => {
    throw new Error('Cannot find module')
  })
  expect(without).toContain('FAREBOX_BASE_URL')
  expect(without).not.toContain('farebox up')
})

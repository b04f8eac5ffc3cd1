import { expect, test } from 'vitest'
import { nearNames } from '#contract/near-names.ts'

const names = ['demo-chat', 'demo-image', 'llama']

test.each<[what: string, wanted: string, near: readonly string[]]>([
  ['a wrong letter', 'demo-chet', ['demo-chat', 'demo-image']],
  ['another order', 'chat-demo', ['demo-chat', 'demo-image']],
  ['nothing alike', 'xyz', []],
  ['G6: a name that is longer than any', 'demo-chat'.repeat(60), []],
])('%s', (_what, wanted, near) => {
  expect(nearNames(wanted, names, 2)).toEqual(near)
})

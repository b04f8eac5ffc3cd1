import { expect, test } from 'vitest'
import { publishedAnswers } from './published-answers.ts'

test.each(publishedAnswers)('%s is read whole', (_, schema, value) => {
  const parsed = schema.safeParse(value)
  expect(parsed.error?.issues ?? []).toEqual([])
  expect(parsed.data).toEqual(value)
})

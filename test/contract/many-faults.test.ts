import { expect, test } from 'vitest'
import { describeIssues } from '#contract/errors/issues.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'

test('a list with a fault in every item is told in a short answer, wherever it stands', () => {
  // More faults in one alternative of a union than a call may have arguments.
  const faults = Array.from({ length: 200_000 }, () => 5)
  const request = { model: 'm', messages: [{ role: 'assistant', content: faults }] }
  const parsed = ChatCompletionRequest.safeParse(request)
  expect(parsed.error).toBeDefined()
  if (!parsed.error) return
  const answer = describeIssues(parsed.error, request)
  expect(answer.issues?.length).toBeLessThanOrEqual(20)
  expect(answer.issues?.[0]).toMatchObject({ path: ['messages', 0, 'content', 0] })
  expect(JSON.stringify(answer).length).toBeLessThan(10_000)
})

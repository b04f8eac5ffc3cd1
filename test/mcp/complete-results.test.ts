/** Some clients show a model only the text of a result, and others only its structure, so each must be complete. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { listing } from '#mcp/listing.generated.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { sayUsd } from '#toolkit/values/amounts.ts'
import { consent, payee, spend } from './approval-requests.ts'
import { type Connection, connect, textOf } from './connect.ts'
import { fakeHost } from './fake-host.ts'
import { samples } from './samples.ts'

/** Members that a text says by its form: what is framed, and how many rows there are. */
const saidByForm = /(?:_is|_are|^found)$/

/** Words of a program in words of a reader. */
const words: Readonly<Record<string, string>> = {
  stop: '',
  length: 'token limit',
  completed: 'done',
  running: 'queued',
  deleted: 'deleted',
  not_needed: 'No approval is needed',
  receipts: 'This wallet',
}

type Leaf = [name: string, value: string | number]

function leavesOf(value: unknown, name = ''): Leaf[] {
  if (typeof value === 'string' || (typeof value === 'number' && value !== 0))
    return saidByForm.test(name) ? [] : [[name, value]]
  if (Array.isArray(value)) return value.flatMap(each => leavesOf(each, name))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, member]) => leavesOf(member, key))
  return []
}

function isSaid(text: string, [, value]: Leaf): boolean {
  if (typeof value === 'number') return text.includes(String(value)) || text.includes(sayUsd(value))
  const asTime = /^\d{4}-\d\d-\d\dT/.test(value) ? value.slice(0, 16).replace('T', ' ') : value
  return [value, words[value], asTime].some(form => form !== undefined && text.includes(form))
}

let connection: Connection
beforeAll(async () => {
  connection = await connect({ host: fakeHost().host, tools: ['all'] })
})
afterAll(() => connection.disconnect())

test.each(listing.tools.map(({ name }) => name))('%s says in words all that its structure has', async name => {
  const result = await connection.client.callTool({ name, arguments: samples[name] ?? {} })
  expect(result.isError).toBeFalsy()
  const leaves = leavesOf(result.structuredContent)
  expect(leaves.filter(leaf => !isSaid(textOf(result), leaf))).toEqual([])
})

describe.each([
  ['a spend', spend],
  ['a consent', consent],
  ['a payee', payee],
])('%s that waits for the user', (_what, question) => {
  test('stands whole in either form, with its price and what to do', async () => {
    const { client, disconnect } = await connect({ host: fakeHost({ questions: [question] }).host })
    const result = await client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'p' } })
    await disconnect()
    const structure = result.structuredContent as Record<string, unknown>
    expect(structure).toMatchObject({ status: 'needs_approval', question: expect.stringMatching(/\?/) })
    for (const said of ['question', 'next_step', 'approval_id'])
      expect(textOf(result)).toContain(String(structure[said]))
    const amount = question.kind === 'consent' ? null : question.amountMicroUsd
    expect(structure.at_most_usd).toBe(amount === null ? undefined : Number(amount) / 1e6)
  })
})

test('a failure says in either form what happened, what it cost, what is left and what to do', async () => {
  const failure = new ToolFailure({
    happened: 'The service is busy.',
    charged: microUsd(250_000),
    creditLeftMicroUsd: microUsd(4_750_000),
    budgetLeftMicroUsd: microUsd(5_000_000),
    next: 'Try again later.',
    said: 'come back',
  })
  const { client, disconnect } = await connect({ host: fakeHost({ failure }).host })
  const result = await client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'p' } })
  await disconnect()
  expect(result.structuredContent).toMatchObject({
    message: 'The service is busy.',
    charged_usd: 0.25,
    credit_left_usd: 4.75,
    budget_left_usd: 5,
    next_step: 'Try again later.',
    service_said: expect.stringContaining('come back'),
  })
  const [ours = '', ...framed] = textOf(result).split('\n')
  expect(ours).toBe(
    'The service is busy. 0.25 USD was charged. Try again later. Credit left: 4.75 USD. The wallet may still pay 5.00 USD today.',
  )
  expect(framed.join('\n')).toContain('come back')
})

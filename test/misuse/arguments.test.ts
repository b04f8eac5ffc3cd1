/** Every argument of every tool with every kind of wrong value, through an MCP client. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { listing } from '#mcp/listing.generated.ts'
import { openAgent } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { connect, textOf } from '../mcp/connect.ts'

vi.setConfig({ testTimeout: 60_000 })

let service: Awaited<ReturnType<typeof pretendService>>
let agent: Awaited<ReturnType<typeof openAgent>>
let connected: Awaited<ReturnType<typeof connect>>

beforeAll(async () => {
  service = await pretendService({ credit: 5 })
  agent = await openAgent({ baseUrl: service.baseUrl, walletKey: undefined })
  connected = await connect({ host: agent.host, tools: ['all'] })
})
afterAll(async () => {
  await connected?.disconnect()
  await agent?.close()
  await service?.close()
})

const values: readonly (readonly [kind: string, value: unknown])[] = [
  ['null', null],
  ['true', true],
  ['a negative number', -1],
  ['a huge number', 1e15],
  ['a fraction', 0.5],
  ['an empty text', ''],
  ['a text of one character', 'x'],
  ['a text of 40,000 characters', 'x'.repeat(40_000)],
  ['an empty list', []],
  ['a list of numbers', [1]],
  ['a list of 3,000', Array.from({ length: 3_000 }, () => 'x')],
  ['an object', { x: 1 }],
]

let refused = 0

test.each(listing.tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties ?? {})] as const))(
  '%s',
  async (tool, names) => {
    for (const name of [...names, 'no_such_argument'])
      for (const [kind, value] of values) {
        const result = await connected.client.callTool({ name: tool, arguments: { [name]: value } })
        if (result.isError !== true) continue
        const said = textOf(result)
        const what = `${name}: ${kind}: ${said.slice(0, 300)}`
        expect(said, what).not.toMatch(/undefined|\[object|NaN|\bat file:|Internal error|Invalid input/)
        expect(said.length, what).toBeLessThan(4_000)
        if (!said.includes('Fix these fields')) continue
        refused++
        // A required argument may be missing too; then both are named.
        if (name === 'no_such_argument') expect(said, what).toContain('`no_such_argument` is not an argument')
        for (const [, sentence = ''] of said.matchAll(/`([^`]+)` ([^;]*)/g))
          expect(sentence.length, what).toBeGreaterThan(0)
      }
  },
)

test('most of them are refused before anything is sent', () => {
  expect(refused).toBeGreaterThan(1_000)
  process.stderr.write(`${refused} wrong values were refused\n`)
})

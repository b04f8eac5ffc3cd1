import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../agent/open-agent.ts'
import { launcher } from '../build/built-product.ts'
import { eras } from './connect.ts'

const noRoute = pathToFileURL(fileURLToPath(new URL('./no-route.ts', import.meta.url))).href

/** What prompts cannot do without. */
const givenTo: Readonly<Record<string, Record<string, string>>> = {
  'make-a-video': { idea: 'A kite.' },
  'compare-models': { question: 'Why?' },
}

/** The whole program, where every connection is noticed and fails. */
async function startWithoutRoute(era: (typeof eras)[number], data: string) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', noRoute, launcher, 'mcp'],
    env: { PATH: '', FAREBOX_DATA: data, FAREBOX_BASE_URL: 'https://service.example/api/v1' },
    stderr: 'pipe',
  })
  const client = new Client(
    { name: 'test', version: '0' },
    { versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  )
  let said = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await client.connect(transport)
  return { client, said: () => said }
}

test.each(eras)(
  'before the first call nothing is sent and no folder is opened, in the %s era',
  async era => {
    const data = join(temporaryFolder(), 'data')
    const { client, said } = await startWithoutRoute(era, data)
    expect((await client.listTools()).tools.length).toBeGreaterThan(9)
    const { prompts } = await client.listPrompts()
    for (const { name } of prompts) {
      const { messages } = await client.getPrompt({ name, arguments: givenTo[name] ?? {} })
      expect(messages).toHaveLength(1)
    }
    await client.listResources()
    await client.listResourceTemplates()
    await client.complete({
      ref: { type: 'ref/prompt', name: 'review-spending' },
      argument: { name: 'period', value: '' },
    })
    await client.callTool({ name: 'chat', arguments: {} })
    await client.close()
    expect([said(), existsSync(data)]).toEqual(['', false])
  },
  60_000,
)

test('the first call that needs the service finds that it cannot be reached, and says so', async () => {
  const { client, said } = await startWithoutRoute('legacy', join(temporaryFolder(), 'data'))
  const result = await client.callTool({ name: 'models_find', arguments: {} })
  expect(result.isError).toBe(true)
  expect(JSON.stringify(result.content)).toContain('The service at https://service.example/api/v1 cannot be reached.')
  await client.close()
  expect(said()).toContain('A connection was tried.')
}, 60_000)

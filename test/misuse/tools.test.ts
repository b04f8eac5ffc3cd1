/**
 * Every error that ten minutes of misuse can cause in a tool, as an MCP client receives it. Each says what is wrong, what
 * is allowed and what to do; `tool-errors.snap` has them whole. What a service can do to a call is in
 * `test/mcp/faults.test.ts`.
 */
import { expect, test } from 'vitest'
import { openAgent } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { closedAfterEach } from '../closed-after-each.ts'
import { connect, textOf } from '../mcp/connect.ts'
import { toolMistakes } from './tool-rows.ts'

const closing = closedAfterEach()
const lines: string[] = []

test.each(toolMistakes.map(mistake => [mistake.tool, shown(mistake.given), mistake] as const))(
  '%s %s',
  async (tool, given, mistake) => {
    const service = await pretendService({ credit: 5, ...mistake.service })
    const agent = await openAgent({
      baseUrl: service.baseUrl,
      ...(mistake.paysNothing ? { walletKey: undefined } : {}),
    })
    const { client, disconnect } = await connect({ host: agent.host, tools: ['all'] })
    closing.push(async () => {
      await disconnect()
      await agent.close()
      await service.close()
    })
    const result = await client.callTool({ name: tool, arguments: mistake.given }).catch(error => ({
      isError: true,
      content: [{ type: 'text', text: String(error.message) }],
    }))
    const said = textOf(result)
    const fill = (part: string) => part.replace('{folder}', agent.dataFolder)
    expect(result.isError, said).toBe(true)
    expect(said).toContain(fill(mistake.wrong))
    if (mistake.allowed !== null) expect(said).toContain(fill(mistake.allowed))
    expect(said).toContain(mistake.next)
    // A sentence, and never the inside of the program.
    expect(said).not.toMatch(/undefined|\[object|NaN|\bat file:|Internal error/)
    const golden = said.replaceAll(agent.dataFolder, 'DIR').replaceAll(new URL(service.baseUrl).host, '127.0.0.1:PORT')
    lines.push(`${tool} ${given}\n${golden}\n`)
  },
)

test('they are these sentences', async () => {
  expect(lines).toHaveLength(toolMistakes.length)
  await expect(lines.join('\n')).toMatchFileSnapshot('tool-errors.snap')
})

function shown(given: object): string {
  const text = JSON.stringify(given)
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

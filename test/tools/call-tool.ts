import { catalogue } from '#agent/tools/catalogue.ts'
import { runTool } from '#toolkit/run-tool.ts'
import { type FakeOptions, fakeHost } from '../mcp/fake-host.ts'

/** One call of a tool as the shell makes it, without MCP. */
export async function call(name: string, given: Record<string, unknown>, options: FakeOptions = {}) {
  const { host, seen } = fakeHost(options)
  const tool = await catalogue.tools[name]?.()
  if (!tool) throw new Error(`no tool ${name}`)
  const context = host.context({ signal: new AbortController().signal, report() {} })
  const outcome = await runTool(tool, given, () => context)
  if (outcome.kind !== 'done')
    throw new Error(JSON.stringify(outcome, (_key, value) => (typeof value === 'bigint' ? String(value) : value)))
  return { ...outcome, seen }
}

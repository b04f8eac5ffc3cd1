import { catalogue } from '#agent/tools/catalogue.ts'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { runTool } from '#toolkit/run-tool.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'

export async function toolOf(name: string) {
  const tool = await catalogue.tools[name]?.()
  if (!tool) throw new Error(`There is no ${name}.`)
  return tool
}

/** Calls a tool as an assistant does, which cannot wait for long: long work comes back as a job. */
export async function asAssistant(
  host: ToolHost,
  name: string,
  given: object = {},
  signal = new AbortController().signal,
) {
  const delivered: (() => void)[] = []
  const whenDelivered = (run: () => void) => void delivered.push(run)
  const invocation = { signal, report: () => {}, whenDelivered, called: { name, given } }
  const outcome = await runTool(await toolOf(name), given, () => host.context(invocation))
  if (outcome.kind === 'failed') throw new ToolFailure(outcome.facts)
  if (outcome.kind === 'needs_approval') throw new ApprovalRequired(outcome.request)
  if (outcome.kind === 'fault') throw outcome.error
  for (const run of delivered) run()
  return outcome
}

import type { Agent, AgentToolResult } from '#agent/index.ts'

/** Calls a tool whose name and arguments a test makes up, or takes from a table: no types hold for those. */
export const callByName = (agent: Agent, name: string, args: unknown = {}): Promise<AgentToolResult> => {
  const tool = agent.toolList.find(each => each.name === name)
  if (!tool) throw new Error(`There is no tool ${name}.`)
  return tool.call(args)
}

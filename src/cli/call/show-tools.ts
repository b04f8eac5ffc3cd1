import type { ListedTool } from '#mcp/listing.ts'
import type { Output } from '../output.ts'

/** A line a tool; with `isJson` all of what a program has to know. */
export function showTools({ print, printJson }: Output, tools: readonly ListedTool[], isJson: boolean): void {
  if (isJson) {
    printJson({ tools: tools.map(shown) })
    return
  }
  const width = Math.max(...tools.map(({ name }) => name.length))
  for (const { name, description } of tools) print(`${name.padEnd(width)}  ${description}`)
}

/** What a tool takes, an argument a line. */
export function showTool({ print, printJson }: Output, tool: ListedTool, isJson: boolean): void {
  if (isJson) {
    printJson(shown(tool))
    return
  }
  const { properties = {}, required = [] } = tool.inputSchema as { properties?: object; required?: readonly string[] }
  print(tool.description)
  for (const [key, schema] of Object.entries(properties)) {
    const { description, ...values } = schema as { description?: string }
    const isNeeded = required.includes(key) ? ' (required)' : ''
    print(`  ${key}${isNeeded}: ${[description, JSON.stringify(values)].filter(Boolean).join(' ')}`)
  }
}

const shown = ({ name, description, inputSchema }: ListedTool) => ({ name, description, inputSchema })

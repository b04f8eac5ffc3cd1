import type { ToolAnnotations } from '#toolkit/define-tool.ts'

/** A tool as `tools/list` answers it: JSON Schemas, ready to send. */
export interface ListedTool {
  name: string
  title: string
  description: string
  inputSchema: ObjectSchema
  outputSchema: ObjectSchema
  annotations: ToolAnnotations
}

export interface ListedPrompt {
  name: string
  title: string
  description: string
  arguments: { name: string; description?: string; required?: boolean }[]
}

export interface ObjectSchema {
  type: 'object'
  [keyword: string]: unknown
}

export interface Listing {
  tools: readonly ListedTool[]
  prompts: readonly ListedPrompt[]
}

/** The tools of these names in the listing's own order; all where `names` is absent. Throws at an unknown name. */
export function chooseTools(listing: Listing, names?: readonly string[]): Listing {
  if (!names) return listing
  const known = listing.tools.map(tool => tool.name)
  const strange = names.find(name => !known.includes(name))
  if (strange !== undefined) throw new Error(`There is no tool \`${strange}\`; choose from ${known.join(', ')}.`)
  const tools = listing.tools.filter(tool => names.includes(tool.name))
  const canRun = new Set(tools.map(tool => tool.name))
  // A prompt leads through several tools, so it is offered only with all of them.
  return { tools, prompts: canRun.size === known.length ? listing.prompts : [] }
}

import type { Listing } from '#mcp/listing.ts'
import type { Catalogue } from '#toolkit/catalogue.ts'
import type { Tool } from '#toolkit/define-tool.ts'
import { listedTool } from '../../../scripts/generators/mcp-listing.ts'
import { askingTools } from './asking-tools.ts'
import { plainTools } from './plain-tools.ts'

const tools: readonly Tool[] = [...plainTools, ...askingTools]

export const catalogue: Catalogue = {
  tools: Object.fromEntries(tools.map(tool => [tool.name, async () => tool])),
  prompts: {},
  resources: {},
}

export const listing: Listing = { tools: tools.map(listedTool), prompts: [], resources: [], resourceTemplates: [] }

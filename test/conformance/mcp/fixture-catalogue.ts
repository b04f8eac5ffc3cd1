import { stateCodec } from '#mcp/context.ts'
import type { Listing } from '#mcp/listing.ts'
import type { Catalogue, Tool } from '#toolkit/define.ts'
import { listedPrompt, listedResource, listedTemplate, listedTool } from '../../../scripts/generators/mcp-listing.ts'
import { askingTools } from './asking-tools.ts'
import { deprecatedTools } from './deprecated-tools.ts'
import { fixture, plainTools } from './plain-tools.ts'
import { prompts } from './prompts.ts'
import { rawSchemas } from './raw-schemas.ts'
import { resources } from './resources.ts'
import { taskTools } from './task-tools.ts'

const ours: readonly Tool[] = [
  ...plainTools,
  ...askingTools,
  ...taskTools,
  ...Object.keys(rawSchemas).map(name => fixture(name)),
]
const theirs = Object.keys(deprecatedTools(stateCodec())).map(name => fixture(name))

const byName = <Value extends { name: string }>(values: readonly Value[]) =>
  Object.fromEntries(values.map(value => [value.name, async () => value]))

export const catalogue: Catalogue = { tools: byName(ours), prompts: byName(prompts), resources: byName(resources) }

export const listing: Listing = {
  tools: [...ours, ...theirs].map(tool => {
    const listed = listedTool(tool)
    return { ...listed, inputSchema: rawSchemas[tool.name] ?? listed.inputSchema }
  }),
  prompts: prompts.map(listedPrompt),
  resources: resources.filter(({ uri }) => !uri.includes('{')).map(listedResource),
  resourceTemplates: resources.filter(({ uri }) => uri.includes('{')).map(listedTemplate),
}

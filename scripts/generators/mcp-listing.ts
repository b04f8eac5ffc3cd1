import { z } from 'zod'
import type { ListedPrompt, ListedTool, Listing, ObjectSchema } from '#mcp/listing.ts'
import { waitingProperties } from '#mcp/waiting.ts'
import type { Prompt } from '#toolkit/define-prompt.ts'
import type { Tool } from '#toolkit/define-tool.ts'
import { sources } from './sources.ts'

/** What `tools/list` and `prompts/list` answer, so that a start converts no schema and loads no tool. */
export async function mcpListing(): Promise<string> {
  const listing: Listing = {
    tools: (await sources('tools')).map(({ value }) => listedTool(value)),
    prompts: (await sources('prompts')).map(({ value }) => listedPrompt(value)),
  }
  return `import type { Listing } from './listing.ts'

/** Tools and prompts as they are listed; written by \`npm run generate\`. */
export const listing: Listing = ${JSON.stringify(listing, null, 2)}
`
}

/** `name: () => import('./name.ts')`, so that each module loads when it is first called. */
export async function catalogueTable(folder: 'tools' | 'prompts'): Promise<string> {
  const kind = folder === 'tools' ? 'Tool' : 'Prompt'
  const found = folder === 'tools' ? await sources('tools') : await sources('prompts')
  const rows = found.map(
    ({ file, value }) => `  ${JSON.stringify(value.name)}: async () => (await import('./${file}')).default,`,
  )
  return `import type { ${kind} } from '#toolkit/define-${kind.toLowerCase()}.ts'

/** Every ${kind.toLowerCase()} by name, loaded when it is first needed; written by \`npm run generate\`. */
export const ${folder}: Readonly<Record<string, () => Promise<${kind}>>> = {
${rows.join('\n')}
}
`
}

export function listedTool({ name, title, description, annotations, input, output }: Tool): ListedTool {
  const result = schemaOf(output, 'output')
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: annotations.readOnlyHint ? result : orWaiting(result),
    annotations,
  }
}

/** A paid call may be answered by what a person has to decide first; clients exist that read no union at the root. */
const orWaiting = ({ properties }: ObjectSchema): ObjectSchema => ({
  type: 'object',
  properties: { ...(properties as object), ...waitingProperties },
})

export const listedPrompt = ({ name, title, description, arguments: values }: Prompt): ListedPrompt => ({
  name,
  title,
  description,
  arguments: Object.entries(values.shape).map(([argument, schema]) => ({
    name: argument,
    ...(schema.description ? { description: schema.description } : {}),
    required: !schema.safeParse(undefined).success,
  })),
})

/** Keywords that every client assumes anyway are left out: each listing costs the model's context. */
function schemaOf(schema: z.ZodObject, io: 'input' | 'output'): ObjectSchema {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      if (io === 'output') {
        // What is sent has passed the whole schema already; a client needs to know what the members are.
        delete jsonSchema.additionalProperties
        delete jsonSchema.description
        delete jsonSchema.required
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return { ...json, type: 'object' }
}

import { z } from 'zod'
import type { ListedPrompt, ListedResource, ListedTemplate, ListedTool, Listing, ObjectSchema } from '#mcp/listing.ts'
import { failureProperties, waitingProperties } from '#toolkit/approval.ts'
import { appUri } from '#toolkit/apps/app-page.ts'
import type { Prompt, Resource, Tool } from '#toolkit/define.ts'
import { SavedFileOutput } from '#toolkit/output/paid.ts'
import { type Folder, jsonLines, sources } from './sources.ts'

/** The answers of the lists of tools, prompts and resources, so that a start converts no schema and loads no tool. */
export async function mcpListing(): Promise<string> {
  const resources = (await sources('resources')).map(({ value }) => value)
  const listing = {
    tools: (await sources('tools')).map(({ value }) => listedTool(value)),
    prompts: (await sources('prompts')).map(({ value }) => listedPrompt(value)),
    resources: resources.filter(({ uri }) => !isTemplate(uri)).map(listedResource),
    resourceTemplates: resources.filter(({ uri }) => isTemplate(uri)).map(listedTemplate),
  } satisfies Listing
  const lists = Object.entries(listing).map(([kind, entries]) => `${kind}: ${jsonLines(entries)},`)
  return `import type { Listing } from './listing.ts'

/** Tools, prompts and resources as they are listed; written by \`npm run generate\`. */
export const listing: Listing = {
${lists.join('\n')}
}
`
}

/** `name: () => import('./name.ts')`, so that each module loads when it is first called. */
export async function catalogueTable(folder: Folder): Promise<string> {
  const kind = { tools: 'Tool', prompts: 'Prompt', resources: 'Resource' }[folder]
  const found: { file: string; value: { name: string } }[] = await sources(folder)
  const rows = found.map(
    ({ file, value }) => `  ${JSON.stringify(value.name)}: async () => (await import('./${file}')).default,`,
  )
  return `import type { ${kind} } from '#toolkit/define.ts'

/** Every ${kind.toLowerCase()} by name, loaded when it is first needed; written by \`npm run generate\`. */
export const ${folder} = {
${rows.join('\n')}
} satisfies Readonly<Record<string, () => Promise<${kind}>>>
`
}

export function listedTool({
  name,
  set,
  isDefault = true,
  title,
  description,
  annotations,
  input,
  output,
  app,
}: Tool): ListedTool {
  const result = schemaOf(output, 'output')
  return {
    name,
    set,
    isDefault,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: orOtherwise(
      result,
      'charged_usd' in output.shape ? { ...waitingProperties, ...failureProperties } : failureProperties,
    ),
    annotations,
    ...(app ? { _meta: { ui: { resourceUri: appUri(app) } } } : {}),
  }
}

/** A paid call may return a pending approval, and any call a failure; some clients support no union at the root. */
const orOtherwise = ({ properties }: ObjectSchema, others: object): ObjectSchema => ({
  type: 'object',
  properties: { ...(properties as object), ...others },
})

const isTemplate = (uri: string): boolean => uri.includes('{')

export const listedResource = ({ name, uri, title, description, mimeType, needs, meta }: Resource): ListedResource => ({
  ...{ name, uri, title, description, needs },
  ...(mimeType ? { mimeType } : {}),
  ...(meta ? { _meta: meta } : {}),
})

export function listedTemplate(resource: Resource): ListedTemplate {
  const { uri: uriTemplate, ...rest } = listedResource(resource)
  return { ...rest, uriTemplate, ...(resource.readsLinks ? { readsLinks: resource.readsLinks } : {}) }
}

export const listedPrompt = ({ name, title, description, needs, arguments: values }: Prompt): ListedPrompt => ({
  name,
  title,
  description,
  needs,
  arguments: Object.entries(values.shape).map(([argument, schema]) => ({
    name: argument,
    ...(schema.description ? { description: schema.description } : {}),
    required: !schema.safeParse(undefined).success,
  })),
})

/** Omits keywords that every client assumes anyway, because each listing costs the model's context. */
function schemaOf(schema: z.ZodObject, io: 'input' | 'output'): ObjectSchema {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      if (io === 'output') {
        // The whole schema has already validated what is sent; a client only needs to know the members.
        delete jsonSchema.additionalProperties
        delete jsonSchema.description
        delete jsonSchema.required
      }
      // Any name and any value, which an object takes anyway.
      if (isEmpty(jsonSchema.additionalProperties)) {
        delete jsonSchema.additionalProperties
        delete jsonSchema.propertyNames
      }
      // No one sends an empty text on purpose.
      if (jsonSchema.minLength === 1) delete jsonSchema.minLength
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return { ...(io === 'output' ? portableOutput(json as OutputSchema) : json), type: 'object' }
}

const isEmpty = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0

interface OutputSchema {
  type?: string | string[]
  properties?: Record<string, OutputSchema>
  items?: OutputSchema
  anyOf?: OutputSchema[]
  enum?: unknown[]
  const?: unknown
  [keyword: string]: unknown
}

/**
 * Shortens an output schema: members are described only inside lists, and a constant becomes its type. A schema has one
 * type, because some model providers support no more.
 */
function portableOutput({ properties = {}, ...schema }: OutputSchema): OutputSchema {
  return { ...schema, properties: mapped(properties, value => portableMember(value)) }
}

function portableMember(schema: OutputSchema): OutputSchema {
  const { type, ...rest } = schema
  if (Array.isArray(type)) return { ...rest, anyOf: type.map(each => ({ type: each })) }
  if (schema.anyOf) return { anyOf: schema.anyOf.map(portableMember) }
  if ('const' in schema) return { type: typeof schema.const }
  if (schema.enum) return rest
  if (type === 'array' && isFile(schema.items)) return { type, items: { type: 'object' } }
  if (type === 'array' && schema.items?.properties) return { ...schema, items: portableOutput(schema.items) }
  return type === 'object' ? { type } : schema
}

/** A saved file has the same members in every tool. */
const isFile = (schema: OutputSchema | undefined): boolean =>
  Object.keys(schema?.properties ?? {}).join() === Object.keys(SavedFileOutput.shape).join()

const mapped = (
  properties: Record<string, OutputSchema>,
  map: (schema: OutputSchema) => OutputSchema,
): Record<string, OutputSchema> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, map(schema)]))

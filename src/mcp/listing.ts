import type { ToolAnnotations, ToolSet } from '#toolkit/define.ts'

/** A tool as `tools/list` answers it, JSON Schemas ready to send, beside what decides whether it is served. */
export interface ListedTool {
  name: string
  set: ToolSet
  isDefault: boolean
  title: string
  description: string
  inputSchema: ObjectSchema
  outputSchema: ObjectSchema
  annotations: ToolAnnotations
}

/** What leads through tools or shows their data, and is offered only with all of them. */
interface Needing {
  needs: readonly string[]
}

export interface ListedPrompt extends Needing {
  name: string
  title: string
  description: string
  arguments: { name: string; description?: string; required?: boolean }[]
}

export interface ListedResource extends Needing {
  name: string
  title: string
  description: string
  uri: string
  mimeType?: string
}

export interface ListedTemplate extends Omit<ListedResource, 'uri'> {
  uriTemplate: string
  readsLinks?: 'file:'
}

export interface ObjectSchema {
  type: 'object'
  [keyword: string]: unknown
}

export interface Listing {
  tools: readonly ListedTool[]
  prompts: readonly ListedPrompt[]
  resources: readonly ListedResource[]
  resourceTemplates: readonly ListedTemplate[]
}

/** A row as it is sent: without what decides about it here. */
export function onWire<Row extends object>(row: Row): Omit<Row, Inner> {
  const {
    set: _s,
    isDefault: _d,
    needs: _n,
    readsLinks: _r,
    ...wire
  } = row as Row & Partial<ListedTool & ListedTemplate>
  return wire as Omit<Row, Inner>
}

type Inner = 'set' | 'isDefault' | 'needs' | 'readsLinks'

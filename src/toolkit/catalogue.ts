import type { Prompt } from './define-prompt.ts'
import type { Resource } from './define-resource.ts'
import type { Tool } from './define-tool.ts'

/** Where tools, prompts and resources are, by name; each is loaded when it is first needed. */
export interface Catalogue {
  tools: Readonly<Record<string, () => Promise<Tool>>>
  prompts: Readonly<Record<string, () => Promise<Prompt>>>
  resources: Readonly<Record<string, () => Promise<Resource>>>
}

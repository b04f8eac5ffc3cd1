import type { ToolContext } from './tool-context.ts'

/** What a client reads without calling a tool, chosen by a person or attached by the client. Free, and changes nothing. */
export interface Resource {
  /** The file's name. */
  name: string
  title: string
  description: string
  /** `farebox://models`; a template has one variable, `farebox://models/{id}`. */
  uri: string
  /** A template that links of tools lead to reads addresses of this scheme too; such an address is its variable's value. */
  readsLinks?: 'file:'
  /** Of a template whose contents differ it is absent. */
  mimeType?: string
  /** Tools whose data it shows, none where it is any tool's; without them it is not offered. */
  needs: readonly string[]
  /** How long a client may keep what it has read, in milliseconds. */
  keepMs: number
  /** `value` stands for the template's variable, empty where there is none. Null where nothing is there. */
  read(context: ToolContext, value: string): Promise<ResourceContent | null>
  /** Values that the variable may have, for whoever types one. */
  choices?(context: ToolContext): Promise<readonly string[]>
}

/** Texts of strangers stand in it as tools show them: marked by `fromOutside`. */
export type ResourceContent = { text: string } | { base64: string; mimeType: string }

export const defineResource = (resource: Resource): Resource => resource

import { isObject } from './json.ts'

/**
 * The vendor word (brief, preamble) appears in header names, in `service_parameters` and in
 * `service_web_search_documents`. Internally it is always `service`; only the code at the edge of the wire uses
 * another word.
 */
export const defaultVendor = 'service'

export const vendorPattern = /^[a-z][a-z0-9]{1,31}$/

export const isVendor = (word: string): boolean => vendorPattern.test(word)

/** `x-service-version` with the vendor's own word. */
export const vendorHeader = (name: string, vendor: string): string =>
  vendor === defaultVendor ? name : name.replace('x-service-', `x-${vendor}-`)

/** The tool call that carries search results (brief §2.8). */
export const searchDocumentsTool = 'service_web_search_documents'

/** Renames our members of a JSON body to the vendor's. What callers and engines wrote is never renamed. */
export const toVendor = (body: unknown, vendor: string): unknown => renameBody(body, vendor)

/** Renames the vendor's members of a JSON body to ours. */
export const fromVendor = (body: unknown, vendor: string): unknown => renameBody(body, vendor)

/**
 * The two words swap places, so that renaming twice returns the original body, whatever a caller named its own members.
 */
function renameBody(body: unknown, vendor: string): unknown {
  if (vendor === defaultVendor || !isObject(body)) return body
  const swap = swapping(vendor)
  return Object.fromEntries(
    Object.entries(body).map(([name, member]) => {
      const next = swap(name, 'service_parameters')
      if (next === 'service_parameters' || name === 'service_parameters') return [next, renameParameters(member, swap)]
      if (name === 'messages') return [name, each(member, message => renameMessage(message, swap))]
      if (name === 'choices') return [name, each(member, choice => renameChoice(choice, swap))]
      return [next, member]
    }),
  )
}

type Swap = (name: string, ours: string) => string

const swapping =
  (vendor: string): Swap =>
  (name, ours) => {
    const theirs = ours.replace(defaultVendor, vendor)
    if (name === ours) return theirs
    return name === theirs ? ours : name
  }

function renameParameters(parameters: unknown, swap: Swap): unknown {
  if (!isObject(parameters)) return parameters
  return Object.fromEntries(
    Object.entries(parameters).map(([name, member]) => [swap(name, 'include_service_system_prompt'), member]),
  )
}

const renameChoice = (choice: unknown, swap: Swap): unknown => {
  if (!isObject(choice)) return choice
  const renamed = { ...choice }
  if ('message' in choice) renamed.message = renameMessage(choice.message, swap)
  if ('delta' in choice) renamed.delta = renameMessage(choice.delta, swap)
  return renamed
}

/**
 * In a message, only the name of the service's own tool is renamed: where it was called, and where its result is
 * returned.
 */
function renameMessage(message: unknown, swap: Swap): unknown {
  if (!isObject(message)) return message
  const renamed = { ...message }
  if ('tool_calls' in message) renamed.tool_calls = each(message.tool_calls, call => renameToolCall(call, swap))
  if (message.role === 'tool') renameToolName(renamed, swap)
  return renamed
}

function renameToolCall(call: unknown, swap: Swap): unknown {
  if (!isObject(call) || !isObject(call.function)) return call
  const called = { ...call.function }
  renameToolName(called, swap)
  return { ...call, function: called }
}

function renameToolName(holder: Record<string, unknown>, swap: Swap): void {
  if (typeof holder.name === 'string') holder.name = swap(holder.name, searchDocumentsTool)
}

const each = (list: unknown, change: (item: unknown) => unknown): unknown =>
  Array.isArray(list) ? list.map(change) : list

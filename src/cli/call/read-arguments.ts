import { z } from 'zod'
import type { ListedTool } from '#mcp/listing.ts'
import type { Tool } from '#toolkit/define.ts'
import { wrongUsage } from '../command.ts'
import type { Output } from '../output.ts'

/** What of a JSON Schema tells how a word of the command line is meant. */
interface Meant {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Meant[]
  oneOf?: readonly Meant[]
}

/**
 * The arguments of a tool from words such as `duration=5s` and `tags=["a","b"]`, each read as its schema means it. What is
 * not as it should be stays a text, so that the tool itself says what it takes. A word without a name, a name that comes
 * twice and JSON that cannot be read are wrong usage.
 */
export function readToolArguments(command: string, tool: Tool, words: readonly string[]): Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(tool.input, { io: 'input' }) as { properties?: Record<string, Meant> }
  const given = new Map<string, unknown>()
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1) throw wrongUsage(command, `\`${word}\` is no argument of ${tool.name}; write it as key=value`)
    const key = word.slice(0, at)
    if (given.has(key))
      throw wrongUsage(command, `\`${key}\` comes twice; write several values as JSON, ${key}=["a","b"]`)
    const meant = Object.hasOwn(properties, key) ? properties[key] : undefined
    given.set(key, readValue(command, key, word.slice(at + 1), meant ?? {}))
  }
  return Object.fromEntries(given)
}

function readValue(command: string, key: string, text: string, meant: Meant): unknown {
  const types = typesOf(meant)
  const isNested = /^\s*[[{]/.test(text) && (types.has('array') || types.has('object'))
  if (types.has('string')) return isNested ? (parsed(text) ?? text) : text
  if (types.has('null') && text === 'null') return null
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if ((types.has('number') || types.has('integer')) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (!types.has('array') && !types.has('object')) return text
  const value = isNested ? parsed(text) : undefined
  if (value === undefined) {
    const example = types.has('array') ? `${key}=["a","b"]` : `${key}={"name":"value"}`
    throw wrongUsage(command, `\`${key}\` takes JSON, such as ${example}`)
  }
  return value
}

/** Every type that the value may have, wherever the schema says it. */
function typesOf({ type = [], enum: values = [], const: value, anyOf = [], oneOf = [] }: Meant): Set<string> {
  const told = typeof type === 'string' ? [type] : type
  const ofValues = [...values, ...(value === undefined ? [] : [value])].map(each =>
    each === null ? 'null' : typeof each,
  )
  const inner = [...anyOf, ...oneOf].flatMap(each => [...typesOf(each)])
  return new Set([...told, ...ofValues, ...inner])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

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

import type { z } from 'zod'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { ChatEngine } from './engine.ts'

/**
 * Which members of a value may be forwarded, by name; `all` if the published schema leaves them open, as in the schema
 * of a function's parameters. For a list, this applies to its items.
 */
export type Members = 'all' | NamedMembers | Variants

interface NamedMembers {
  named: ReadonlyMap<string, Members>
}

/** Objects distinguished by one member, such as messages by their role; any other object has no published members. */
interface Variants {
  by: string
  of: ReadonlyMap<unknown, Members>
}

const none: Members = { named: new Map() }

interface Definition {
  type: string
  shape?: Record<string, z.core.$ZodType>
  element?: z.core.$ZodType
  innerType?: z.core.$ZodType
  in?: z.core.$ZodType
  out?: z.core.$ZodType
  options?: readonly z.core.$ZodType[]
  discriminator?: string
}

/** Returns the members that a schema names, at every depth. */
export function membersOf(schema: z.core.$ZodType): Members {
  const { type, shape, element, innerType, in: before, out, options, discriminator } = schema._zod.def as Definition
  if (shape) return { named: new Map(Object.entries(shape).map(([name, member]) => [name, membersOf(member)])) }
  if (element) return membersOf(element)
  if (innerType) return membersOf(innerType)
  if (before && out) return membersOf(out._zod.def.type === 'transform' ? before : out)
  if (options && discriminator) return variantsOf(options, discriminator)
  if (options) return options.map(membersOf).reduce(merged, none)
  return type === 'record' || type === 'unknown' || type === 'any' ? 'all' : none
}

const variantsOf = (options: readonly z.core.$ZodType[], by: string): Variants => ({
  by,
  of: new Map(
    options.flatMap(option =>
      [...(option._zod.propValues?.[by] ?? [])].map(value => [value, membersOf(option)] as const),
    ),
  ),
})

/** Returns the members of both. */
function merged(one: Members, other: Members): Members {
  if (one === 'all' || other === 'all') return 'all'
  if (one === other || isNone(other)) return one
  if (isNone(one)) return other
  if ('by' in one && 'by' in other && one.by === other.by) return { by: one.by, of: mergedMaps(one.of, other.of) }
  if ('named' in one && 'named' in other) return { named: mergedMaps(one.named, other.named) }
  throw new Error('Alternatives that are told apart in different ways have no common list of members.')
}

const isNone = (members: NamedMembers | Variants): boolean => 'named' in members && members.named.size === 0

function mergedMaps<Name>(one: ReadonlyMap<Name, Members>, other: ReadonlyMap<Name, Members>): Map<Name, Members> {
  const both = new Map(one)
  for (const [name, members] of other) both.set(name, merged(both.get(name) ?? none, members))
  return both
}

/** Adds what is at a path of names, such as `chat_template_kwargs.enable_thinking`, with everything in it. */
export const withPath = (members: Members, path: string): Members => withNames(members, path.split('.'))

function withNames(members: Members, [name = '', ...rest]: readonly string[]): Members {
  if (members === 'all') return members
  if ('by' in members) return withNamesIn(members, [name, ...rest])
  const inner = rest.length ? withNames(members.named.get(name) ?? none, rest) : 'all'
  return { named: new Map(members.named).set(name, inner) }
}

/** A path applies to the variants that already have its first name, or to each of them if none has. */
function withNamesIn({ by, of }: Variants, names: readonly string[]): Variants {
  const has = (each: Members) => each !== 'all' && 'named' in each && each.named.has(names[0] ?? '')
  const isKnown = [...of.values()].some(has)
  return {
    by,
    of: new Map([...of].map(([value, each]) => [value, isKnown && !has(each) ? each : withNames(each, names)])),
  }
}

/** Removes these names from the top level. */
export function withoutNames(members: Members, names: readonly string[]): Members {
  if (members === 'all' || 'by' in members) return members
  return { named: new Map([...members.named].filter(([name]) => !names.includes(name))) }
}

/** Returns a value without the members that may not be forwarded; the same object if all may. */
export function handedOn<Value>(value: Value, members: Members): Value {
  if (members === 'all' || typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? items(value, members) : object(value as Record<string, unknown>, members)) as Value
}

function items(list: readonly unknown[], members: Members): readonly unknown[] {
  const passed = list.map(item => handedOn(item, members))
  return passed.some((item, index) => item !== list[index]) ? passed : list
}

function object(value: Record<string, unknown>, members: NamedMembers | Variants): Record<string, unknown> {
  if ('by' in members) return handedOn(value, members.of.get(value[members.by]) ?? none)
  const { named } = members
  const passed: [name: string, value: unknown][] = []
  let isSame = true
  for (const [name, each] of Object.entries(value)) {
    const inner = named.get(name)
    const kept = inner === undefined ? undefined : handedOn(each, inner)
    if (inner !== undefined) passed.push([name, kept])
    isSame &&= kept === each
  }
  return isSame ? value : Object.fromEntries(passed)
}

/**
 * Published members that are not for an engine: who calls, what OpenAI would store, and models that have no price here.
 */
const keptHere = ['user', 'store', 'metadata', 'fallbacks']

/** The detail in which a model sees an image: published for Responses, and sent here too by OpenAI's clients. */
const imageDetail = 'messages.content.image_url.detail'

let published: Members | undefined

/** Returns what an engine may get of a chat: the published members (published contract §5.1) and these paths. */
export function chatMembers(paths: readonly string[] = []): Members {
  published ??= withPath(withoutNames(membersOf(ChatCompletionRequest), keptHere), imageDetail)
  return paths.reduce(withPath, published)
}

const known = new WeakMap<ChatEngine, Members>()

/**
 * Returns a request without the members that this engine does not get, so that they are neither held for nor counted.
 */
export function requestFor(engine: ChatEngine, request: ChatCompletionRequest): ChatCompletionRequest {
  const members = known.get(engine) ?? chatMembers(engine.passMembers)
  known.set(engine, members)
  return handedOn(request, members)
}

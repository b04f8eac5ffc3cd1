import { z } from 'zod'
import { nearNames } from './near-names.ts'

/** A list of a request stops after this many faults; the refusal repeats fewer. */
export const mostFaults = 100

/**
 * A list of an answer stops later: an unknown member of an answer is a fault that its reader removes, so a list of
 * models from a newer service has a fault in each.
 */
export const mostAnswerFaults = 10_000

interface BoundedDef extends z.core.$ZodArrayDef {
  most: number
}

const BoundedList = z.core.$constructor<z.ZodArray, BoundedDef>('BoundedList', (list, def) => {
  z.ZodArray.init(list, def)
  const { parse } = list._zod
  list._zod.parse = (payload, context) => {
    const { value } = payload
    if (!Array.isArray(value)) return parse(payload, context)
    const items: unknown[] = []
    payload.value = items
    for (let index = 0; index < value.length && payload.issues.length < def.most; index++) {
      const item = def.element._zod.run({ value: value[index], issues: [] }, context)
      if (item instanceof Promise) throw new z.core.$ZodAsyncError()
      items.push(item.value)
      if (item.issues.length) payload.issues.push(...z.core.util.prefixIssues(index, item.issues))
    }
    return payload
  }
})

/**
 * An array in a request. Equivalent to `z.array`, but stops at its first faults: zod keeps an issue for each wrong
 * item, in each alternative of a union, so that a few megabytes of zeros would take seconds or exhaust memory.
 */
export const listOf = <Element extends z.ZodType>(element: Element): z.ZodArray<Element> =>
  boundedList(element, mostFaults)

/**
 * An array in an answer, which may come from a hostile engine or service. Not for an array in an alternative of a union,
 * whose faults count as one.
 */
export const answerListOf = <Element extends z.ZodType>(element: Element): z.ZodArray<Element> =>
  boundedList(element, mostAnswerFaults)

const boundedList = <Element extends z.ZodType>(element: Element, most: number) =>
  new BoundedList({ type: 'array', element, most }) as unknown as z.ZodArray<Element>

/** Maximum number of members of a record in a request; real ones have a handful. */
const mostMembers = 100

/** One in an answer has a member per model. */
const mostAnswerMembers = 10_000

interface BoundedRecordDef extends z.core.$ZodRecordDef {
  most: number
}

const BoundedRecord = z.core.$constructor<z.ZodRecord, BoundedRecordDef>('BoundedRecord', (record, def) => {
  z.ZodRecord.init(record, def)
  const { parse } = record._zod
  record._zod.parse = (payload, context) => {
    const { value } = payload
    const isTooLarge = typeof value === 'object' && value !== null && Object.keys(value).length > def.most
    if (!isTooLarge) return parse(payload, context)
    const message = `Must have ${def.most} members at most`
    payload.issues.push({ code: 'custom', message, input: value, inst: record })
    return payload
  }
})

/**
 * A record in a request, with any names: like `z.record`, but a record that is too large is a single fault, whatever it
 * contains.
 */
export const recordOf = <Value extends z.ZodType>(value: Value): z.ZodRecord<z.ZodString, Value> =>
  boundedRecord(value, mostMembers)

/** A record in an answer. */
export const answerRecordOf = <Value extends z.ZodType>(value: Value): z.ZodRecord<z.ZodString, Value> =>
  boundedRecord(value, mostAnswerMembers)

const boundedRecord = <Value extends z.ZodType>(value: Value, most: number) =>
  new BoundedRecord({ type: 'record', keyType: z.string(), valueType: value, most }) as unknown as z.ZodRecord<
    z.ZodString,
    Value
  >

const OpenRecord = z.core.$constructor<z.ZodRecord, z.core.$ZodRecordDef>('OpenRecord', (record, def) => {
  z.ZodRecord.init(record, def)
  const { parse } = record._zod
  record._zod.parse = (payload, context) =>
    z.core.util.isPlainObject(payload.value) ? payload : parse(payload, context)
})

/**
 * An object in a request with any members: equivalent to a `z.record` of anything, but not copied. zod takes more than a
 * microsecond for each member.
 */
export const anyObject = (): z.ZodRecord<z.ZodString, z.ZodUnknown> =>
  new OpenRecord({ type: 'record', keyType: z.string(), valueType: z.unknown() }) as unknown as z.ZodRecord<
    z.ZodString,
    z.ZodUnknown
  >

/** How many unknown members a refusal names; an object may have thousands. */
const namedMembers = 5
const namedCharacters = 64

/** An object that accepts no other members, for places where an ignored member would be a limit that does not apply. */
export const closedObject = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: issue =>
      issue.code === 'unrecognized_keys' ? refusal(issue.keys as string[], Object.keys(shape)) : undefined,
  })

const refusal = (unknown: readonly string[], known: readonly string[]): string =>
  `Not allowed here: ${unknown
    .slice(0, namedMembers)
    .map(name => name.slice(0, namedCharacters))
    .join(', ')}. Allowed members: ${known.join(', ')}`

/** How many unknown members are compared, and how many characters of a name: a body may have thousands. */
const comparedMembers = 100
const comparedCharacters = 64

/**
 * An object that accepts unknown members (brief §1.4), except those whose name is similar to a known one: if a
 * misspelled limit of a key were ignored, the key would have no limit. The refusal suggests the known name.
 */
export const spelledObject = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const known = Object.keys(shape)
  return z.looseObject(shape).check(({ value, issues }) => {
    const unknown = Object.keys(value).filter(name => !Object.hasOwn(shape, name))
    for (const name of unknown.slice(0, comparedMembers)) {
      const near = nearNames(name.slice(0, comparedCharacters), known, 2)
      if (near.length === 0) continue
      const message = `Unknown member; did you mean ${near.join(' or ')}?`
      issues.push({ code: 'custom', message, path: [name], input: value })
    }
  })
}

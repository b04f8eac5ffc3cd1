import { z } from 'zod'
import { bodyTypesOf, type Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { type Seeded, seeded } from '../../faults/seeded.ts'
import type { Asked, Caller } from '../contract/recipe.ts'
import { type DrawnSchema, drawValue } from './draw-value.ts'
import { brokenBodies, hostileValues, strangeHeaders, strangeParts } from './hostile-values.ts'

export interface FuzzInput {
  operation: Operation
  path: string
  asked: Asked
}

type Known = Readonly<Record<string, readonly unknown[]>>

/** The same input for the same seed and number, whatever came before it. */
export function fuzzInput(seed: number, number: number, known: Known): FuzzInput {
  const random = seeded(seed, `${number}`)
  const all: readonly Operation[] = operations
  const operation = all[number % all.length] as Operation
  const callers: Caller[] = ['key', 'key', 'key', 'wallet', 'admin', 'poor', 'nobody']
  const headers = random.once(5) ? random.pick(strangeHeaders) : undefined
  const body = bodyOf(operation, random, known)
  return {
    operation,
    path: pathOf(operation, random, known),
    asked: {
      as: random.pick(callers) ?? 'key',
      query: queryOf(operation, random, known),
      ...(headers ? { headers } : {}),
      ...(body === undefined ? {} : { body }),
    },
  }
}

const schemas = new Map<z.ZodType, DrawnSchema>()

function schemaOf(schema: z.ZodType): DrawnSchema {
  const found = schemas.get(schema) ?? (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as DrawnSchema)
  schemas.set(schema, found)
  return found
}

function drawn(schema: z.ZodType, random: Seeded, known: Known): unknown {
  const root = schemaOf(schema)
  return drawValue({ random, root, known }, root)
}

function bodyOf(operation: Operation, random: Seeded, known: Known): unknown {
  const { body } = operation.request
  if (!body) return operation.method !== 'GET' && random.once(4) ? '{}' : undefined
  const value = drawn(body, random, known)
  const spoiled = random.once(2) ? spoil(value, random) : value
  if (bodyTypesOf(operation).includes('multipart') && random.once(2)) return formOf(spoiled, random)
  if (random.once(5)) return random.pick(brokenBodies)?.(JSON.stringify(value) ?? '{}')
  return spoiled
}

/** One member, at any depth, is another than it should be, missing, or one too many. */
function spoil(value: unknown, random: Seeded): unknown {
  if (typeof value !== 'object' || value === null || random.once(6)) return random.pick(hostileValues)?.()
  const names = Object.keys(value)
  const name = random.pick(names)
  if (name === undefined || random.once(8))
    return Array.isArray(value) ? [...value, 1] : { ...value, unheard_of: value }
  const inner = (value as Record<string, unknown>)[name]
  const next = random.once(8) ? undefined : spoil(inner, random)
  if (Array.isArray(value)) return value.map((each, index) => (String(index) === name ? next : each))
  return { ...value, [name]: next }
}

function formOf(value: unknown, random: Seeded): FormData {
  const form = new FormData()
  for (const [name, each] of Object.entries(value ?? {})) {
    form.append(name, typeof each === 'string' ? each : (JSON.stringify(each) ?? ''))
  }
  const bytes = Uint8Array.from({ length: random.below(400) }, () => random.below(256))
  const names = ['file', 'image', 'images[]', 'audio', random.pick(strangeParts) ?? '']
  form.append(random.pick(names) ?? 'file', new File([bytes], random.pick(strangeParts) ?? 'a.bin'))
  return form
}

function pathOf({ path, request }: Operation, random: Seeded, known: Known): string {
  const params = request.params ? (drawn(request.params, random, known) as Record<string, unknown>) : {}
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    random.once(3)
      ? (random.pick(strangeParts) ?? 'x')
      : encodeURIComponent(String(params[name] ?? 'x').toWellFormed()),
  )
}

function queryOf({ request }: Operation, random: Seeded, known: Known): string {
  if (!request.query && !random.once(10)) return ''
  const values = request.query ? (drawn(request.query, random, known) as Record<string, unknown>) : {}
  const parts = Object.entries(values).map(([name, value]) => {
    const text = random.once(3) ? (random.pick(strangeParts) ?? '') : encodeURIComponent(String(value).toWellFormed())
    return `${name}=${text}`
  })
  if (random.once(5)) parts.push(`unheard=${random.pick(strangeParts)}`, ...parts)
  return parts.length ? `?${parts.join('&')}` : ''
}

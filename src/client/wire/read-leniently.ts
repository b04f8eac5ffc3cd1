import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** Rounds of removing; nesting of our schemas is far below. */
const rounds = 16

/**
 * Reads an answer by its schema where a service may say more than we know: members that a strict schema does not name are
 * left out. Null where it does not fit even so. `value` is changed.
 */
export function readLeniently<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> | null {
  for (let round = 0; round < rounds; round++) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    const strange = parsed.error.issues.map(issue => unknownMembers(issue, []))
    if (!strange.every(found => found !== null)) return null
    for (const { path, keys } of strange.flat()) remove(value, path, keys)
  }
  return null
}

interface Unknown {
  path: PropertyKey[]
  keys: readonly string[]
}

/** Where unknown members are all that is wrong; null where something else is. Of a union, the first branch that would fit. */
function unknownMembers(issue: Issue, before: readonly PropertyKey[]): Unknown[] | null {
  const path = [...before, ...issue.path]
  if (issue.code === 'unrecognized_keys') return [{ path, keys: issue.keys }]
  if (issue.code !== 'invalid_union') return null
  for (const branch of issue.errors) {
    const found = branch.map(inner => unknownMembers(inner, path))
    if (found.length > 0 && found.every(each => each !== null)) return found.flat()
  }
  return null
}

function remove(value: unknown, path: readonly PropertyKey[], keys: readonly string[]): void {
  const holder = path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
  if (typeof holder !== 'object' || holder === null) return
  for (const key of keys) Reflect.deleteProperty(holder, key)
}

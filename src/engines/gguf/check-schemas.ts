import { fieldError } from '#contract/errors/issues.ts'
import { isObject } from '#contract/wire/json.ts'

/** A schema in a request, and where it is. */
export interface SentSchema {
  schema: unknown
  path: readonly (string | number)[]
}

/**
 * Members, and the most of what they count, of all schemas together. A grammar has rules for each of these, and nothing
 * else in the process runs while it is built.
 */
const mostCounted = 20_000

/** Each character, item or property that these allow becomes a rule. */
const counts: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
])

/**
 * Checks schemas before llama.cpp's package reads them: it builds a grammar of any size, and prints references that lead
 * nowhere, as the caller wrote them, to the operator's log. Throws `invalidRequest`.
 */
export function checkSchemas(schemas: readonly SentSchema[]): void {
  let counted = 0
  for (const { schema, path } of schemas) {
    const members = [...membersOf(schema)]
    checkReferences(members, path)
    counted += members.length
    for (const [name, value] of members) {
      // A property of the caller's own may have that name.
      if (!counts.has(name) || isObject(value)) continue
      if (typeof value !== 'number') throw fieldError(path, `its ${name} must be a number`)
      counted += Math.max(0, value)
    }
    if (counted > mostCounted) {
      throw fieldError(
        path,
        `is too large for this model: its members plus the values of limits such as maxLength may add up to at most ${mostCounted}`,
      )
    }
  }
}

type Member = readonly [name: string, value: unknown]

/** At any depth; a request's depth is limited. */
function* membersOf(value: unknown): Generator<Member> {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.entries(value)) {
    yield member
    yield* membersOf(member[1])
  }
}

const definitionPath = '#/$defs/'

function checkReferences(members: readonly Member[], path: SentSchema['path']): void {
  const defined = new Set(
    members.flatMap(([name, value]) => (name === '$defs' && isObject(value) ? Object.keys(value) : [])),
  )
  for (const [name, value] of members) {
    if (name !== '$ref' || typeof value !== 'string') continue
    const isDefined = value.startsWith(definitionPath) && defined.has(value.slice(definitionPath.length))
    if (!isDefined)
      throw fieldError(path, `a $ref must name a definition of the schema itself, as ${definitionPath}NAME`)
  }
}

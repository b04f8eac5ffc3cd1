import { expect, test } from 'vitest'
import { ServiceError } from '#contract/errors/service-error.ts'
import { checkSchemas } from '#engines/gguf/generation.ts'

/** What is wrong with a format's schema; null for one that llama.cpp's package may read. */
function problemOf(...schemas: unknown[]): string | null {
  try {
    checkSchemas(schemas.map((schema, index) => ({ schema, path: ['tools', index] })))
    return null
  } catch (error) {
    if (error instanceof ServiceError) return JSON.stringify(error.body)
    throw error
  }
}

const text = (maxLength: unknown, minLength: unknown = 0) => ({ type: 'string', maxLength, minLength })
const step = { type: 'object', properties: { next: { $ref: '#/$defs/step' } } }
/** A property may have any name, also that of a member. */
const named = { properties: { $ref: { type: 'string' }, maxLength: { type: 'number' }, $defs: { type: 'null' } } }
const many = Object.fromEntries(Array.from({ length: 12 }, (_, each) => [`p${each}`, text(1_999 - each)]))

test.each<[what: string, ...schemas: unknown[]]>([
  ['no schema', undefined],
  ['ordinary lengths', { type: 'object', properties: { name: text(100, 1), tags: { items: text(40), maxItems: 9 } } }],
  ['a definition that refers to itself', { $defs: { step }, $ref: '#/$defs/step' }],
  ['properties with the names of members', named],
])('D12: %s pass', (_what, ...schemas) => {
  expect(problemOf(...schemas)).toBeNull()
})

test.each<[what: string, says: RegExp, ...schemas: unknown[]]>([
  ['one length', /too large for this model/, text(1e9)],
  ['many lengths', /too large for this model/, { properties: many }],
  ['many lengths, and a negative one', /too large for this model/, { properties: { ...many, q: text(-1e9) } }],
  ['many lengths of several tools', /\["tools",1\].*too large/, { a: text(15_000) }, { a: text(15_000) }],
  ['many members', /too large for this model/, { enum: Array.from({ length: 30_000 }, (_, each) => each) }],
  ['a length that is no number', /its maxLength must be a number/, text('\n-5\n')],
  ['a line for the log as a reference', /must name a definition/, { $ref: 'x\n{"level":"error"}' }],
  ['such a reference at any depth', /must name a definition/, { items: { oneOf: [{ $ref: '#/$defs/\n' }] } }],
  ['a reference to a missing definition', /must name a definition/, { $defs: { a: {} }, $ref: '#/$defs/b' }],
])('D12: %s of a schema is refused before a grammar is built', (_what, says, ...schemas) => {
  expect(problemOf(...schemas)).toMatch(says)
})

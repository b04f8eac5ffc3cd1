import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { instructionCharacters } from '#mcp/bounds.ts'
import { listing } from '#mcp/listing.generated.ts'
import { chooseTools, printTools } from '#mcp/listing.ts'
import { instructionsFor } from '#mcp/server.ts'
import { mcpListing } from '../../scripts/generators/mcp-listing.ts'
import { catalogue } from './catalogue.ts'
import { type Connection, connect, eras } from './connect.ts'
import { fakeHost } from './fake-host.ts'
import { samples } from './samples.ts'

/** Of the default set, when it is complete: 3,500 tokens and 32 kB over twenty tools. */
const wholeSet = { tools: 20, tokens: 3500, bytes: 32_000 }
const defaults = chooseTools(listing).tools
const tokensOf = (text: string): number => encode(text).length

let connection: Connection
beforeAll(async () => {
  connection = await connect({ host: fakeHost().host, tools: ['all'] })
})
afterAll(() => connection.disconnect())

test('what is listed is pinned', async () => {
  const { tools } = await connection.client.listTools()
  const { prompts } = await connection.client.listPrompts()
  const { resources } = await connection.client.listResources()
  const { resourceTemplates } = await connection.client.listResourceTemplates()
  const lists = { tools, prompts, resources, resourceTemplates }
  await expect(`${JSON.stringify(lists, null, 2)}\n`).toMatchFileSnapshot('listing.snap')
})

test('the generated listing is up to date', async () => {
  const { readFile } = await import('node:fs/promises')
  const written = await readFile(new URL('../../src/mcp/listing.generated.ts', import.meta.url), 'utf8')
  expect(await mcpListing()).toBe(written)
})

test('every connection and era lists the same bytes', async () => {
  const seen = new Set<string>()
  for (const era of [...eras, ...eras]) {
    const other = await connect({ era, host: fakeHost().host, capabilities: { elicitation: {} } })
    seen.add(JSON.stringify((await other.client.listTools()).tools))
    await other.disconnect()
  }
  expect(seen.size).toBe(1)
})

test('a modern client may keep the listing', async () => {
  const { client, written, disconnect } = await connect({ era: 'modern', host: fakeHost().host })
  await client.listTools()
  await disconnect()
  expect(written()).toMatch(/"ttlMs":3600000/)
  expect(written()).toMatch(/"cacheScope":"public"/)
})

test('name, description and input schema stay within their share of tokens', () => {
  const tokens = defaults.map(({ name, description, inputSchema }) =>
    tokensOf(name + description + JSON.stringify(inputSchema)),
  )
  const total = tokens.reduce((sum, one) => sum + one, 0)
  expect(defaults.length).toBeLessThanOrEqual(wholeSet.tools)
  expect(total).toBeLessThanOrEqual((wholeSet.tokens / wholeSet.tools) * defaults.length)
})

interface Parameters {
  properties?: Record<string, Parameters & { description?: string }>
  items?: Parameters
}

const undescribed = ({ properties = {}, items }: Parameters): string[] => [
  ...Object.entries(properties).flatMap(([name, member]) => [
    ...(member.description ? [] : [name]),
    ...undescribed(member),
  ]),
  ...(items ? undescribed(items) : []),
]

test.for(listing.tools)('every parameter of $name is described, at every depth', ({ inputSchema }) => {
  expect(undescribed(inputSchema as Parameters)).toEqual([])
})

const untyped = (name: string, schema: Parameters & { type?: string; anyOf?: Parameters[] }): string[] => [
  ...(schema.type || schema.anyOf ? [] : [name]),
  ...Object.entries(schema.properties ?? {}).flatMap(([member, value]) => untyped(`${name}.${member}`, value)),
  ...(schema.items ? untyped(`${name}[]`, schema.items) : []),
]

test.for(listing.tools)('every parameter of $name has a type, at every depth', ({ name, inputSchema }) => {
  expect(untyped(name, inputSchema as Parameters)).toEqual([])
})

test('the whole listing stays within its share of bytes', () => {
  const bytes = Buffer.byteLength(JSON.stringify({ tools: printTools().listing.tools }))
  expect(bytes).toBeLessThanOrEqual((wholeSet.bytes / wholeSet.tools) * defaults.length)
})

/** The default twenty. */
const wholeNames = [
  ...['chat', 'models_find', 'job_wait', 'job_list', 'job_delete', 'limits'],
  ...['wallet_status', 'wallet_top_up', 'wallet_receipts'],
  ...['image_create', 'image_edit', 'image_upscale', 'image_remove_background'],
  ...['estimate', 'video_create', 'speech_create', 'transcribe', 'music_create', 'web_search', 'web_read'],
]
const named = (text: string) => text.match(/\b[a-z]+_[a-z_]+\b/g)?.filter(word => word !== 'job_id') ?? []

test.each([
  ['all tools that there will be', wholeNames],
  ['the default tools', defaults.map(({ name }) => name)],
  ['the wallet alone', ['wallet_receipts', 'wallet_status', 'wallet_top_up']],
  ['one tool', ['web_read']],
])('the instructions of %s are not cut by assistants, and name only what is served', (_what, names) => {
  const text = instructionsFor(names.map(name => ({ name })))
  expect(text.length).toBeLessThanOrEqual(instructionCharacters)
  expect(named(text).filter(name => !names.includes(name))).toEqual([])
  for (const part of ['Money', 'Approvals', 'Safety']) expect(text).toContain(`\n${part}\n- `)
  expect(text).not.toMatch(/undefined|\n\n\n|- \n/)
})

test('a client is told the instructions of what it is served', async () => {
  const { client, disconnect } = await connect({ host: fakeHost().host, tools: ['wallet'] })
  expect(client.getInstructions()).toContain('wallet_top_up is rarely needed')
  expect(client.getInstructions()).not.toContain('job_wait')
  await disconnect()
})

describe.each(listing.tools)('$name', tool => {
  test('its input schema takes the right arguments, and its output schema what comes of them', async () => {
    const validator = new AjvJsonSchemaValidator()
    const given = samples[tool.name]
    expect(given, 'a sample').toBeDefined()
    expect(validator.getValidator(tool.inputSchema)(given)).toMatchObject({ valid: true })
    expect(validator.getValidator(tool.inputSchema)({ ...given, strange: 1 })).toMatchObject({ valid: false })
    const { structuredContent } = await connection.client.callTool({ name: tool.name, arguments: given ?? {} })
    expect(validator.getValidator(tool.outputSchema)(structuredContent)).toMatchObject({ valid: true })
  })

  test('its words are plain, and no argument decides for the user', () => {
    const words = JSON.stringify(tool)
    expect(words).not.toMatch(/\p{Cc}|\p{Cf}/u)
    const names = Object.keys(tool.inputSchema.properties ?? {})
    expect(names.filter(name => /consent|approv|limit_usd|max_.*usd|budget|cap\b|confirm/i.test(name))).toEqual([])
  })

  test('it says that it is free, or what was paid', async () => {
    const module = await catalogue.tools[tool.name]?.()
    expect(module?.annotations).toEqual(tool.annotations)
    const { readOnlyHint, destructiveHint } = tool.annotations
    const isFree = /\bFree\.$/.test(tool.description)
    if (readOnlyHint || destructiveHint) expect(isFree).toBe(true)
    expect('charged_usd' in (tool.outputSchema.properties as object)).toBe(!isFree)
    expect('status' in (tool.outputSchema.properties as object)).toBe(!isFree)
  })
})

test('every tool, prompt and resource that is listed can be loaded, and no other', () => {
  expect(Object.keys(catalogue.tools)).toEqual(listing.tools.map(({ name }) => name))
  expect(Object.keys(catalogue.prompts)).toEqual(listing.prompts.map(({ name }) => name))
  const resources = [...listing.resources, ...listing.resourceTemplates].map(({ name }) => name)
  expect(Object.keys(catalogue.resources).sort()).toEqual(resources.sort())
})

test.each([
  ['a set', ['wallet'], ['wallet_receipts', 'wallet_status', 'wallet_top_up']],
  [
    'a set and a tool, each once',
    ['limits', 'wallet', 'limits'],
    ['limits', 'wallet_receipts', 'wallet_status', 'wallet_top_up'],
  ],
  ['the default', ['default'], defaults.map(({ name }) => name)],
  ['everything', ['all'], listing.tools.map(({ name }) => name)],
])('%s is served in the order of the listing', (_what, words, names) => {
  expect(chooseTools(listing, words).tools.map(({ name }) => name)).toEqual(names)
})

test('what needs a tool comes with it, and a tool that is off comes by its name and by all alone', () => {
  const offered = (...words: string[]) => {
    const { prompts, resources, resourceTemplates } = chooseTools(listing, words)
    return [...prompts, ...resources, ...resourceTemplates].map(({ name }) => name)
  }
  // Any tool may have saved a file.
  expect(offered('wallet')).toEqual([
    ...['app_approval', 'app_spending', 'media', 'policy', 'receipts'],
    ...['media_file', 'receipt'],
  ])
  expect(offered('chat', 'models_find')).toEqual(['compare-models', 'media', 'models', 'media_file', 'model'])
  const [first] = listing.tools
  if (!first) throw new Error('The listing is empty.')
  const off = { ...first, name: 'rare_one', isDefault: false }
  const withOff = { ...listing, tools: [...listing.tools, off] }
  const has = (...words: string[]) => chooseTools(withOff, words).tools.includes(off)
  expect([has('default'), has(off.set), has('all'), has('rare_one')]).toEqual([false, false, true, true])
  expect(chooseTools(withOff).tools).not.toContain(off)
})

test('every prompt and resource needs tools that there are', () => {
  const known = listing.tools.map(({ name }) => name)
  const needed = [...listing.prompts, ...listing.resources, ...listing.resourceTemplates].flatMap(({ needs }) => needs)
  expect(needed.filter(name => !known.includes(name))).toEqual([])
})

test('a prompt names only tools that it needs', async () => {
  const known = listing.tools.map(({ name }) => name)
  for (const [name, load] of Object.entries(catalogue.prompts)) {
    const prompt = await load()
    const text = prompt.write({ idea: 'A kite.', question: 'Why?' } as never)
    const named = new Set(text.match(/\b[a-z]+_[a-z_]+\b/g)?.filter(word => known.includes(word)))
    expect([name, [...named].filter(word => !prompt.needs.includes(word))]).toEqual([name, []])
  }
})

test('the printed hash changes with the set', () => {
  expect(printTools().sha256).toMatch(/^[0-9a-f]{64}$/)
  expect(printTools(['chat']).sha256).not.toBe(printTools().sha256)
})

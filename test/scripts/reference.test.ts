/** The pages in docs/reference, which `npm run generate` prints from the sources and CI compares. */
import { expect, test } from 'vitest'
import * as agent from '#agent/index.ts'
import * as contract from '#contract/index.ts'
import { listing } from '#mcp/listing.generated.ts'
import * as service from '#service/index.ts'
import * as toolkit from '#toolkit/index.ts'
import { commandsPage, referencePages, toolsPage } from '../../scripts/generators/reference.ts'

const doors = { agent, contract, toolkit, service }

const pageOf = async (door: string): Promise<string> =>
  (await referencePages.find(({ path }) => path.endsWith(`/${door}.md`))?.make()) ?? ''

const headings = (page: string): string[] => [...page.matchAll(/^## `(\w+)`$/gm)].map(([, name = '']) => name)

test.each(Object.entries(doors))('the page of %s has every name that it exports', async (door, exported) => {
  const names = headings(await pageOf(door))
  expect(Object.keys(exported).filter(name => !names.includes(name))).toEqual([])
  expect(new Set(names).size).toBe(names.length)
})

test('each name of the agent’s door has a sentence, and what is called has an example', async () => {
  const [page = ''] = (await pageOf('agent')).split('\n# Types named above')
  const sections = page.split(/^## /m).slice(1)
  expect(sections.length).toBeGreaterThan(30)
  expect(sections.filter(each => each.split('\n\n')[1]?.startsWith('```')).map(each => each.split('\n')[0])).toEqual([])
  const called = sections.filter(each => /^`(?!refusalHeader)[a-z]/.test(each))
  expect(called.length).toBeGreaterThan(4)
  for (const each of called) expect(each).toContain('```js\n')
})

test('no body of a function and no private member is shown', async () => {
  for (const door of Object.keys(doors)) {
    const page = await pageOf(door)
    expect(page).not.toMatch(/^ {2}#\w|^ +return [\w({]/m)
    expect(page).not.toMatch(/\bbrief §/)
  }
})

test('the page of tools has every tool and each of its arguments', async () => {
  const page = await toolsPage()
  for (const { name, inputSchema } of listing.tools) {
    const [, section = ''] = page.split(`## \`${name}\`\n`)
    for (const key of Object.keys(inputSchema.properties ?? {})) expect(section, name).toContain(`| \`${key}\` | `)
  }
})

test('the page of commands has every flag', async () => {
  const page = await commandsPage()
  expect(page).toContain('farebox wallet send ADDRESS AMOUNT [--facilitator URL | --print]')
  expect(page).toContain('  Audit the ledger, and compare it with the chains:')
})

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string }[]
}

/** Loaded by the debugger, which a page's content policy does not stop. */
export async function expectNoFinding(view: Page, about = ''): Promise<void> {
  await view.evaluate(axe)
  const found = (await view.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[]
  expect(found.map(({ id, nodes }) => [about, id, ...nodes.map(({ html }) => html)])).toEqual([])
}

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

interface Attacked {
  origin: string
  /** A path of its API that a script of another site must not read. */
  path: string
}

/**
 * Opens another site on this machine in the victim's browser, beside their session. Its page has this markup, and can
 * neither frame nor read what it attacks.
 */
export async function openHostileSite(victim: Page, { origin, path }: Attacked, markup = '') {
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<iframe src="${origin}/"></iframe>${markup}`)
  })
  site.listen(0, '127.0.0.1')
  const attacker = await victim.context().newPage()
  await attacker.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  const framed = attacker.frames()[1]?.locator('#page')
  expect(await framed?.count().catch(() => 0)).toBe(0)
  const read = `fetch('${origin}${path}', { credentials: 'include' }).then(() => 'read', () => 'refused')`
  expect(await attacker.evaluate(read)).toBe('refused')
  /** Sends what a browser lets any site send: a request with the victim's cookies, whose answer it cannot read. */
  const post = (to: string, body: object) =>
    attacker.evaluate(
      `fetch('${origin}${to}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '${JSON.stringify(body)}' }).catch(() => {})`,
    )
  return { attacker, post, close: async () => site.close() }
}

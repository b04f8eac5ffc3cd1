/**
 * Every error that ten minutes of misuse can cause at the server of a page. Each says what is wrong, what is allowed and
 * what to do; `page-errors.snap` has them whole. What the pages make of them in a browser is in
 * `test/browser/misuse.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountPage } from './account-page-rows.ts'
import { apiPages } from './api-page-rows.ts'
import { consolePage } from './console-page-rows.ts'
import { makingPage } from './making-page-rows.ts'
import type { MisusedPage } from './page-mistake.ts'
import { walletPage } from './wallet-page-rows.ts'

const lines: string[] = []

const misused = [walletPage, makingPage, accountPage, apiPages, consolePage]

describe.each(misused)('$name', ({ name, open, mistakes }) => {
  let opened: Awaited<ReturnType<MisusedPage['open']>>
  beforeAll(async () => {
    opened = await open()
  }, 60_000)
  afterAll(async () => opened?.close(), 60_000)

  test.each(mistakes)('$what', async ({ what, status: expected }) => {
    const { status, said } = await opened.provoke(what)
    expect([what, status], said.join(' ')).toEqual([what, expected])
    const text = opened.names.reduce((all, [value, other]) => all.replaceAll(value, other), said.join('\n'))
    // Sentences, and never the inside of the program.
    for (const line of text.split('\n')) expect(line).toMatch(/^[A-Za-z\d"`].*[.\w]$/)
    expect(text).toMatch(/\.$/m)
    expect(text).not.toMatch(/undefined|\[object|NaN|\bat file:|Error:/)
    lines.push(`${name}: ${what} (${status})\n${text}\n`)
  })
})

test('they are these sentences', async () => {
  expect(lines).toHaveLength(misused.reduce((sum, { mistakes }) => sum + mistakes.length, 0))
  await expect(lines.join('\n')).toMatchFileSnapshot('page-errors.snap')
})

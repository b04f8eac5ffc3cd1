/**
 * Every error that ten minutes of misuse can cause in a terminal, provoked through the front door. Each says what is
 * wrong, what is allowed and what to do; `errors.snap` has them whole, to be read as a user reads them. `tools.test.ts`
 * has those of an MCP client.
 */
import { expect, test, vi } from 'vitest'
import { assistantMistakes } from './assistant-rows.ts'
import { provoke } from './provoke.ts'
import { serviceMistakes } from './service-rows.ts'

vi.setConfig({ testTimeout: 60_000 })

const mistakes = [...serviceMistakes, ...assistantMistakes]
const lines: string[] = []

test.each(mistakes.map(mistake => [mistake.typed, mistake] as const))('farebox %s', async (typed, mistake) => {
  const { code, said, fill, golden } = await provoke(mistake)
  const { wrong, allowed, next } = mistake
  expect(said).toContain(fill(wrong))
  if (allowed !== null) expect(said).toContain(fill(allowed))
  expect(said).toContain(fill(next))
  expect(code, said).toBe(mistake.code)
  // A sentence, and never the inside of the program.
  expect(said).not.toMatch(/unexpected error|\bat file:|undefined|\[object|NaN/)
  if (mistake.answers) expect(said).not.toMatch(/\bthe user\b/i)
  lines.push(`$ farebox ${typed}\n${golden}\n`)
})

test('they are these sentences', async () => {
  expect(lines).toHaveLength(mistakes.length)
  await expect(`${lines.join('\n')}`).toMatchFileSnapshot('errors.snap')
})

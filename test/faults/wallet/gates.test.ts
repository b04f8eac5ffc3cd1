import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Gates } from './gates.ts'

let folder = ''
const [one, other] = [{}, {}]
const gateOf = (name: string): string => join(folder, name)
const halted = (name: string) => ({ kind: 'halted', point: 'after planned', gate: gateOf(name) }) as const

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-gates-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a halted process continues when no other one runs, the longest halted first', () => {
  const gates = new Gates<object>(() => 61_000)
  gates.start([one, other])
  gates.told(one, halted('one'))
  expect(existsSync(gateOf('one'))).toBe(false)
  gates.told(other, halted('other'))
  expect(readFileSync(gateOf('one'), 'utf8')).toBe('61000')
  expect(existsSync(gateOf('other'))).toBe(false)
  gates.told(one, { kind: 'waits' })
  expect(existsSync(gateOf('other'))).toBe(true)
})

test('the first one of a wave goes on when it is let go and all others rest', async () => {
  const gates = new Gates<object>(() => 0)
  const rests = gates.lead(one)
  gates.told(one, halted('first'))
  await rests
  gates.start([other])
  gates.letGo()
  expect(existsSync(gateOf('first'))).toBe(false)
  gates.ended(other)
  expect(existsSync(gateOf('first'))).toBe(true)
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test.each([
  ['signs', 'viem'],
  ['shares no journal', 'pg'],
])('what never %s never loads %s', (_what, name) => {
  const folder = fileURLToPath(new URL('../../src/wallet', import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
  expect(files).toContain(join('records', 'postgres', 'connection.ts'))
  const eager = files.filter(path =>
    new RegExp(`^import (?!type ).*from '${name}\\b`, 'm').test(readFileSync(join(folder, path), 'utf8')),
  )
  expect(eager).toEqual([])
})

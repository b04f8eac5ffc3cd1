import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('what never signs never loads viem', () => {
  const folder = fileURLToPath(new URL('../../src/wallet', import.meta.url))
  const eager = readdirSync(folder).filter(name =>
    /^import (?!type ).*from 'viem/m.test(readFileSync(join(folder, name), 'utf8')),
  )
  expect(eager).toEqual([])
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openState } from '#wallet/records/state.ts'
import { temporaryFolder } from './sample-wallet.ts'

const child = fileURLToPath(new URL('./deciding-child.ts', import.meta.url))

test('while one process decides, another waits', async () => {
  const folder = temporaryFolder()
  // The first opening makes the file, so that afterwards only the decision itself is waited for.
  const state = openState(folder)
  state.decide(() => undefined)
  const other = spawn(process.execPath, [child, folder, '400'], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(other.stdout, 'data')
  expect(existsSync(join(folder, 'left'))).toBe(false)
  expect(state.decide(() => existsSync(join(folder, 'left')))).toBe(true)
  state.close()
  await once(other, 'exit')
})

/** Windows has no file modes, so the place of a folder says whether others can read it. */
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { checkData, checkWalletFolder } from '#cli/doctor/check-machine.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

const folder = temporaryFolder('doctor-windows')

const checks = {
  wallet: () => checkWalletFolder(folder, 'win32'),
  'data folder': () => checkData(dataFolder(folder), 'win32'),
}

test.each(Object.entries(checks))('a %s in the user profile is private', async (check, run) => {
  for (const home of ['HOME', 'USERPROFILE']) vi.stubEnv(home, dirname(folder))
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await run()).toContainEqual(expect.objectContaining({ check, state: 'ok' }))
})

test.each(Object.entries(checks))('a %s elsewhere may not be', async (check, run) => {
  for (const home of ['HOME', 'USERPROFILE']) vi.stubEnv(home, join(folder, 'home'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const says = expect.stringContaining('outside your user profile')
  expect(await run()).toContainEqual(expect.objectContaining({ check, state: 'note', says }))
})

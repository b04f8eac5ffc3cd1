/** Tests take one key in many folders, so each file of tests has notes of its own about which journal counts for it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const home = mkdtempSync(join(tmpdir(), 'farebox-state-'))
process.env.XDG_STATE_HOME = home
afterAll(() => rmSync(home, { recursive: true, force: true }))

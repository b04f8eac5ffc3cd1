/** Makes a slow decision in a wallet's records: prints when it has begun, and writes when it ends. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openState } from '#wallet/records/state.ts'

const [, , folder = '', pauseMs = '0'] = process.argv

const state = openState(folder)
state.decide(() => {
  process.stdout.write('inside\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(pauseMs))
  writeFileSync(join(folder, 'left'), '')
})
state.close()

/** Decides something in a wallet's records, and takes its time: says when it is inside, and writes when it leaves. */
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

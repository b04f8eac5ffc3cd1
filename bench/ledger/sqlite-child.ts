/** Measures SQLite in a separate process with the syncs of a slow disk, and prints the result as JSON. */
import { mkdirSync } from 'node:fs'
import { measureLedger, type Phases } from './measure.ts'
import { sqliteSide } from './sides.ts'

const [folder = '', phases = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const side = await sqliteSide(folder)
const figures = await measureLedger(side, JSON.parse(phases) as Phases)
await side.close()
process.stdout.write(JSON.stringify(figures))

/** Measures SQLite in a process of its own, whose syncs are those of a slow disk, and prints the figures as JSON. */
import { mkdirSync } from 'node:fs'
import { measureLedger } from './measure.ts'
import { sqliteSide } from './sides.ts'

const folder = process.argv[2] ?? ''
mkdirSync(folder, { recursive: true })
const side = await sqliteSide(folder)
const figures = await measureLedger(side)
await side.close()
process.stdout.write(JSON.stringify(figures))

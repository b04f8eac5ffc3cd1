/** Writes one of the files that must survive, then says so in the followed folder, so that the recording has the moment. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acknowledgedName } from './acknowledged.ts'
import { keptFiles } from './kept-files.ts'

const [, , root = '', rule = ''] = process.argv
const file = keptFiles[rule]
if (!file) throw new Error(`There is no file ${JSON.stringify(rule)}.`)
await file.write(root)
await writeFile(join(root, file.followed, acknowledgedName), '')

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './build/bundle.ts'
import { declarations } from './build/declarations.ts'
import { thirdPartyNotice } from './build/third-party.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const dist = join(root, 'dist')

await rm(dist, { recursive: true, force: true })
const metafile = await bundle(root)
await writeFile(join(dist, 'THIRD-PARTY.txt'), await thirdPartyNotice(root, metafile))
await declarations(root)

const outputs = Object.entries(metafile.outputs)
const bytes = outputs.reduce((sum, [, output]) => sum + output.bytes, 0)
process.stdout.write(`Bundled ${outputs.length} files, ${Math.round(bytes / 1024)} KiB, into dist/.\n`)

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFacts } from './generators/manifest.ts'
import { packBundle } from './mcpb/pack-bundle.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const { name, version } = await packageFacts()
const file = join(root, 'dist', `${name}-${version}.mcpb`)
try {
  await packBundle(root, join(root, 'dist/mcpb'), file)
  const { size } = await stat(file)
  process.stdout.write(`Packed ${Math.round(size / 1024)} KiB into dist/${name}-${version}.mcpb.\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

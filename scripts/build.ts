import { fileURLToPath } from 'node:url'
import { buildPackage } from './build/build-package.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
try {
  const chunks = await buildPackage(root)
  const bytes = chunks.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0)
  process.stdout.write(`Bundled ${chunks.length} files, ${Math.round(bytes / 1024)} KiB, into dist/.\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

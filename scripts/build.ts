import { fileURLToPath } from 'node:url'
import { buildPackage } from './build/build-package.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
try {
  const { files, bytes } = await buildPackage(root)
  process.stdout.write(`Bundled ${files} files, ${Math.round(bytes / 1024)} KiB, into dist/.\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

import { fileURLToPath } from 'node:url'
import { buildPackage } from './build/build-package.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const { files, bytes } = await buildPackage(root)
process.stdout.write(`Bundled ${files} files, ${Math.round(bytes / 1024)} KiB, into dist/.\n`)

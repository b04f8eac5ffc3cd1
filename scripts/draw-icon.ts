import { writeFile } from 'node:fs/promises'
import { icon } from './mcpb/icon.ts'

/** Writes `icon.png`. It is kept beside the manifest that names it, because zlib may pack the same pixels otherwise. */
await writeFile(new URL('../icon.png', import.meta.url), await icon())

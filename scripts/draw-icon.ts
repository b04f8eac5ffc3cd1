import { writeFile } from 'node:fs/promises'
import { icon } from './mcpb/icon.ts'

/** Writes `icon.png`. The file is committed, because another zlib may compress the same pixels differently. */
await writeFile(new URL('../icon.png', import.meta.url), await icon())

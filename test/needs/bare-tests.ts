/**
 * Prints the test files that `.ci/run` runs on a bare PATH beside `npm test`: those that read or make media, by what they and their helpers
 * import, and some that run programs.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testsOfPrograms } from '../layers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Opens the whole service, media included, for tests of anything. */
const wholeService = 'test/service/open-service.ts'

/** Rooms that read or make media. */
const mediaRooms = /^#(host\/media|engines\/(ffmpeg|sound|video-media|faces)|agent\/media)\//

const alsoBare = [
  'agent/media-tools',
  'agent/own-command',
  'build/free-tools',
  'examples/examples',
  'needs/needs',
  'service/video-transcription',
].map(name => `test/${name}.test.ts`)

const importsOf = (path: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/(?:from|import\() ?'([^']+)'/g)].flatMap(
    ([, name]) => name ?? [],
  )

/** By what a file imports, also by way of other files under `test/`. */
function touchesMedia(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || path === wholeService || !existsSync(join(root, path))) return false
  seen.add(path)
  return importsOf(path).some(
    name => mediaRooms.test(name) || (name.startsWith('.') && touchesMedia(join(dirname(path), name), seen)),
  )
}

for (const path of alsoBare) if (!existsSync(join(root, path))) throw new Error(`There is no ${path}.`)
const all = globSync('test/**/*.test.ts', { cwd: root })
const chosen = new Set([...all.filter(path => touchesMedia(path)), ...alsoBare, ...testsOfPrograms])
process.stdout.write([...chosen].sort().join('\n'))

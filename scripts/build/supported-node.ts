import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** Next to the bundles, each of which imports it before anything else. */
export const supportedNodeFile = 'supported-node.js'

/**
 * Writes the file that reports, in one sentence, that Node is older than package.json requires; its syntax works in any
 * Node.
 */
export async function writeSupportedNode(root: string, dist: string): Promise<void> {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  await writeFile(join(dist, supportedNodeFile), supportedNode(engines.node))
}

function supportedNode(range: string): string {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(range) ?? []
  if (minor === undefined) throw new Error(`engines.node of package.json is ${range}: write it as >=22.19`)
  return `const [major, minor] = process.versions.node.split('.').map(Number)
if (major < ${major} || (major === ${major} && minor < ${minor})) {
  const error = new Error(
    'farebox needs Node ${major}.${minor} or newer and this is ' + process.versions.node + ': install it from https://nodejs.org.',
  )
  // The stack is of no use to users.
  error.stack = 'Error: ' + error.message
  throw error
}
`
}

/**
 * An older Node fails on a missing module before any line has run, so `node:sqlite` is loaded at run time: by then the
 * message above has been printed.
 */
export const lateSqlite: Plugin = {
  name: 'late sqlite',
  resolveId(specifier, _importer, { kind }) {
    // A package that requires it directly handles its absence itself.
    return specifier === 'node:sqlite' && kind === 'import-statement' ? LATE : null
  },
  load: id =>
    id === LATE ? `export const { ${sqliteNames.join(', ')} } = process.getBuiltinModule('node:sqlite')` : null,
}

const LATE = '\0late-sqlite'

/** All names that are imported from it; the build fails if one is missing. */
const sqliteNames = ['DatabaseSync', 'backup']

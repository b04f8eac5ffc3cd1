import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** Beside the bundles, each of which imports it before anything else. */
export const supportedNodeFile = 'supported-node.js'

/** Writes the file that says, in one sentence, that a Node is older than package.json wants it; plain enough for any Node. */
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
  // Where it was thrown helps nobody.
  error.stack = 'Error: ' + error.message
  throw error
}
`
}

/**
 * An older Node stops at a module that it lacks before any line has run, so `node:sqlite` is asked for by one: what is
 * imported before it has spoken by then.
 */
export const lateSqlite: Plugin = {
  name: 'late sqlite',
  resolveId(specifier, _importer, { kind }) {
    // A package that requires it has its own reasons, and its own net.
    return specifier === 'node:sqlite' && kind === 'import-statement' ? LATE : null
  },
  load: id =>
    id === LATE ? `export const { ${sqliteNames.join(', ')} } = process.getBuiltinModule('node:sqlite')` : null,
}

const LATE = '\0late-sqlite'

/** What of it is imported anywhere; the build stops where one is missing. */
const sqliteNames = ['DatabaseSync', 'backup']

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Next to the bundles, each of which imports it before anything else. */
export const supportedNodeFile = 'supported-node.js'

/**
 * Writes the file that reports, in one sentence, that package.json does not allow this Node; its syntax works in any
 * Node.
 */
export async function writeSupportedNode(root: string, dist: string): Promise<void> {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  await writeFile(join(dist, supportedNodeFile), supportedNode(engines.node))
}

function supportedNode(range: string): string {
  const [, old, oldMinor, next, major, minor] = /^>=(\d+)\.(\d+) <(\d+) \|\| >=(\d+)\.(\d+)$/.exec(range) ?? []
  if (minor === undefined || Number(next) !== Number(old) + 1)
    throw new Error(`engines.node of package.json is ${range}: write it as >=22.20 <23 || >=24.7`)
  return `const [major, minor] = process.versions.node.split('.').map(Number)
if (!(major > ${major} || (major === ${major} && minor >= ${minor}) || (major === ${old} && minor >= ${oldMinor}))) {
  const error = new Error(
    'farebox needs Node ${major}.${minor} or newer, or ${old}.${oldMinor} or a later ${old}, but this is Node ' + process.versions.node + '. Install it from https://nodejs.org.',
  )
  // The stack is of no use to users.
  error.stack = 'Error: ' + error.message
  throw error
}
`
}

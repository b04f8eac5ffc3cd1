import { execFile } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../temporary-folder.ts'

const root = join(import.meta.dirname, '../..')

/** What depends on how Node itself reads and writes sockets. */
const files = ['bodies', 'draining', 'streams-on-a-socket'].map(name => `test/service/${name}.test.ts`)

const run = promisify(execFile)

describe.each(['node-oldest', 'node-newest'])('on %s', { tags: ['nodes'] }, name => {
  const folder = join(root, 'node_modules', name, 'bin')
  const node = join(folder, 'node')
  const env = { ...process.env, NO_COLOR: '1', PATH: `${folder}${delimiter}${process.env.PATH}` }

  test('a first chat is sold and paid', async () => {
    const data = temporaryFolder('node-releases')
    const { stdout } = await run(node, [join(root, 'bin/farebox.mjs'), 'up', '--once', '--port', '0', '--data', data], {
      env,
    })
    expect(stdout).toContain('receipt verified')
  })

  test('what passes through sockets does so whole and in order', async () => {
    const config = ['run', '--config', 'vitest.unit.config.ts', '--reporter=dot']
    const { stdout } = await run(node, [join(root, 'node_modules/vitest/vitest.mjs'), ...config, ...files], {
      cwd: root,
      env,
    })
    expect(stdout).toContain(`${files.length} passed`)
  })
})

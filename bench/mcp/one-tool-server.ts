import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'rolldown'

/** A minimal server with the SDK: one tool, one minified file, no compile cache. */
const source = `import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod/v4'

serveStdio(() => {
  const server = new McpServer({ name: 'one-tool', version: '1.0.0' })
  server.registerTool(
    'echo',
    { description: 'Answers what it is given.', inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({ content: [{ type: 'text', text }] }),
  )
  return server
})
`

/** Builds it with the repository's SDK; returns the path of its file. */
export async function buildOneToolServer(root: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const file = join(folder, 'server.js')
  await build({
    cwd: root,
    input: ENTRY,
    platform: 'node',
    transform: { target: 'node22.20' },
    plugins: [
      {
        name: 'one tool',
        // Resolved as if it were in the repository, whose packages it imports.
        resolveId: specifier => (specifier === ENTRY ? join(root, ENTRY) : null),
        load: id => (id === join(root, ENTRY) ? source : null),
      },
    ],
    output: { file, format: 'esm', minify: true, comments: false, codeSplitting: false },
  })
  return file
}

const ENTRY = 'one-tool-server.js'

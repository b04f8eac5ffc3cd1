import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { Product } from '../../conformance/mcp/spawn-product.ts'
import { asAnswer, type JourneyClient } from './client.ts'

const program = join(
  import.meta.dirname,
  '../../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
)

/** The protocol's inspector on the command line. It shows no form, so the user decides at a terminal. */
export function inspectorClient({ url, token, folder }: Product): JourneyClient {
  const server = [url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, '--protocol-era', 'modern']
  const run = (...flags: string[]) =>
    new Promise<string>((resolve, reject) => {
      const options = { env: { PATH: '', HOME: folder }, maxBuffer: 2 ** 24 }
      execFile(process.execPath, [program, '--cli', ...server, ...flags], options, (error, stdout) =>
        stdout === '' ? reject(error ?? new Error('The inspector said nothing.')) : resolve(stdout),
      )
    })
  return {
    async call(tool, given) {
      const named = ['--method', 'tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(given)]
      return asAnswer(JSON.parse(await run(...named)))
    },
    async close() {},
  }
}

import { readFile } from 'node:fs/promises'

/** What of package.json other descriptions of the package repeat. */
export interface PackageFacts {
  name: string
  version: string
  description: string
  license: string
  keywords: string[]
  /** Reverse domain, a slash, the server: how the MCP registry knows it. */
  mcpName: string
  engines: { node: string }
}

export const packageFacts = async (): Promise<PackageFacts> =>
  JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))

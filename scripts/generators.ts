import { readFile } from 'node:fs/promises'
import { compiledContracts } from './compile-token.ts'
import type { Generator } from './generator.ts'
import { headerChecklist } from './generators/header-checklist.ts'
import { manifest } from './generators/manifest.ts'
import { catalogueTable, mcpListing } from './generators/mcp-listing.ts'
import { openApi } from './generators/openapi.ts'
import { serverJson } from './generators/server-json.ts'

export const generators: readonly Generator[] = [
  { path: 'src/contract/version.generated.ts', make: versionModule },
  { path: 'openapi.yaml', make: openApi },
  { path: 'manifest.json', make: manifest },
  { path: 'server.json', make: serverJson },
  { path: 'docs/conformance.md', make: headerChecklist },
  { path: 'src/mcp/listing.generated.ts', make: mcpListing },
  { path: 'tools/table.generated.ts', make: () => catalogueTable('tools') },
  { path: 'prompts/table.generated.ts', make: () => catalogueTable('prompts') },
  { path: 'resources/table.generated.ts', make: () => catalogueTable('resources') },
  ...compiledContracts,
]

/** The version as a constant, so that a bundle carries it and nothing reads `package.json` at start. */
async function versionModule(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return `/** The version in package.json; written by \`npm run generate\`. */\nexport const version = '${version}'\n`
}

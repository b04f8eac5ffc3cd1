import { readFile } from 'node:fs/promises'
import { stringify } from 'yaml'
import { describeApi, yamlOptions } from '#contract/openapi/openapi.ts'
import { type AnswerHeaderRow, answerHeaderTable } from '#contract/operations/answer-headers.ts'
import { performancePage, performancePlots } from '../bench/kit/page.ts'
import { compiledContracts } from './compile-token.ts'
import { assistantsPage } from './generators/assistants.ts'
import { comparePage } from './generators/compare.ts'
import { manifest, serverJson } from './generators/manifest.ts'
import { catalogueTable, mcpListing } from './generators/mcp-listing.ts'
import { pageBundles } from './generators/pages.ts'
import { commandsPage, referencePages, toolsPage } from './generators/reference.ts'
import { yamlSettingsPage } from './generators/yaml-settings.ts'

/** A file that is generated from other sources. `make` is pure: the same sources give the same text. */
interface Generator {
  /** Relative to the root of the repository. */
  path: string
  make(): Promise<string>
}

export const generators: readonly Generator[] = [
  { path: 'src/contract/version.generated.ts', make: versionModule },
  { path: 'openapi.yaml', make: openApi },
  { path: 'manifest.json', make: manifest },
  { path: 'server.json', make: serverJson },
  { path: 'docs/conformance.md', make: headerChecklist },
  { path: 'docs/assistants.md', make: assistantsPage },
  { path: 'docs/performance.md', make: async () => performancePage() },
  { path: 'docs/compare.md', make: comparePage },
  ...performancePlots,
  ...referencePages,
  { path: 'docs/reference/tools.md', make: toolsPage },
  { path: 'docs/reference/commands.md', make: commandsPage },
  { path: 'docs/reference/farebox-yaml.md', make: yamlSettingsPage },
  { path: 'src/mcp/listing.generated.ts', make: mcpListing },
  { path: 'tools/table.generated.ts', make: () => catalogueTable('tools') },
  { path: 'prompts/table.generated.ts', make: () => catalogueTable('prompts') },
  { path: 'resources/table.generated.ts', make: () => catalogueTable('resources') },
  ...pageBundles,
  ...compiledContracts,
]

/** The version as a constant, so that the bundle contains it and a start does not read `package.json`. */
async function versionModule(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return `/** The version in package.json; written by \`npm run generate\`. */\nexport const version = '${version}'\n`
}

const page = new URL('../docs/conformance.md', import.meta.url)
const [begin, end] = ['<!-- headers: written by npm run generate -->', '<!-- end of headers -->']

/** The page on conformance with the contract's table of headers; everything else stays unchanged. */
async function headerChecklist(): Promise<string> {
  const text = await readFile(page, 'utf8')
  const [before, rest] = split(text, begin)
  const [, after] = split(rest, end)
  return `${before}${begin}\n${headerLines().join('\n')}\n${end}${after}`
}

const headerLines = (): string[] => [
  '| Header | § | Sent |',
  '|---|---|---|',
  ...answerHeaderTable.map(row => `| \`${row.header.name}\` | ${row.section} | ${sentWhen(row)} |`),
]

const sentWhen = (row: AnswerHeaderRow): string => ('on' in row ? row.header.when : `Never: ${row.notSent}.`)

function split(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark)
  if (at < 0) throw new Error(`docs/conformance.md lacks the line ${mark}; put it back.`)
  return [text.slice(0, at), text.slice(at + mark.length)]
}

/** Where `farebox up` serves by default; a running service prints its own address. */
const serverUrl = 'http://127.0.0.1:8402/api/v1'

/** `openapi.yaml` in the root. */
async function openApi(): Promise<string> {
  return stringify(describeApi({ serverUrl }), yamlOptions)
}

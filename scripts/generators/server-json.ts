import { packageFacts } from './package-facts.ts'
import { passphraseFile, type Setting, settings } from './settings.ts'

/** The entry for the MCP registry: where the server is and what it wants to be told. */
export async function serverJson(): Promise<string> {
  const { name, version, description, mcpName } = await packageFacts()
  const entry = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title: name,
    description,
    version,
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        packageArguments: [
          { type: 'positional', value: 'mcp' },
          {
            type: 'named',
            name: passphraseFile.flag,
            description: passphraseFile.description,
            format: 'filepath',
            isRequired: false,
          },
        ],
        environmentVariables: settings.map(variable),
      },
    ],
  }
  return `${JSON.stringify(entry, null, 2)}\n`
}

const formats = { string: 'string', number: 'number', directory: 'filepath' } as const

/** A default that only an MCPB client can fill in is no default here. */
const variable = ({ variable: name, type, description, default: value, isRequired, isSecret }: Setting) => ({
  name,
  description,
  format: formats[type],
  isRequired: isRequired === true,
  isSecret: isSecret === true,
  ...(value === undefined || String(value).includes('${') ? {} : { default: String(value) }),
})

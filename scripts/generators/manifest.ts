import { readFile } from 'node:fs/promises'
import type { Prompt } from '#toolkit/define.ts'
import { passphraseFile, type Setting, settings } from './settings.ts'
import { sources } from './sources.ts'

/**
 * The manifest of the bundle that desktop assistants install (MCPB, manifest version 0.3). Unknown members would make
 * it invalid.
 */
export async function manifest(): Promise<string> {
  const { name, version, description, license, keywords, engines } = await packageFacts()
  const usual = (await sources('tools')).map(({ value }) => value).filter(({ isDefault = true }) => isDefault)
  const tools = usual.map(tool => ({ name: tool.name, description: tool.description }))
  const prompts = (await sources('prompts'))
    .map(({ value }) => value)
    .filter(({ needs }) => needs.every(need => tools.some(tool => tool.name === need)))
    .map(shownPrompt)
  const bundle = {
    manifest_version: '0.3',
    name,
    display_name: 'farebox',
    version,
    description,
    long_description: longDescription,
    author: { name: 'the farebox authors' },
    icon: 'icon.png',
    server: {
      type: 'node',
      entry_point: 'bin/farebox.mjs',
      mcp_config: {
        command: 'node',
        args: [
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the installing client fills these in
          '${__dirname}/bin/farebox.mjs',
          'mcp',
          `${passphraseFile.flag}=${filledIn(passphraseFile.key)}`,
        ],
        env: {
          ...Object.fromEntries(settings.map(({ key, variable }) => [variable, filledIn(key)])),
          // A user who installs it has no command in a terminal, so advice names its settings instead.
          FAREBOX_BUNDLE: '1',
        },
      },
    },
    tools,
    prompts,
    keywords,
    license,
    // The published package contains the page, so this address is for the same version.
    privacy_policies: [`https://unpkg.com/${name}@${version}/docs/privacy.md`],
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: `${engines.node}.0` } },
    user_config: {
      ...Object.fromEntries(settings.map(setting => [setting.key, option(setting)])),
      [passphraseFile.key]: {
        type: 'file',
        title: passphraseFile.title,
        description: passphraseFile.description,
        required: false,
      },
    },
  }
  return `${JSON.stringify(bundle, null, 2)}\n`
}

const filledIn = (key: string): string => `\${user_config.${key}}`

const longDescription = `Gives your assistant chat, images, video, audio and web search as tools, from the service that you name. Calls are paid with an API key, or from a small USDC wallet with caps that no tool call can raise. farebox asks you before it accepts a consent policy, pays above your threshold or pays a new payee. Without a key or a wallet, the free tools work.

Your prompts and files go only to the service that you name. The wallet asks a public node of its chain for its balance. docs/privacy.md in this bundle lists what data leaves your machine.`

const option = ({ type, title, description, default: value, isRequired, isSecret }: Setting) => ({
  type,
  title,
  description,
  ...(value === undefined ? {} : { default: value }),
  ...(type === 'number' ? { min: 0 } : {}),
  ...(isSecret ? { sensitive: true } : {}),
  required: isRequired === true,
})

/**
 * The client replaces the placeholders with the user's arguments. A missing one would leave a gap, so the prompt names
 * only required arguments.
 */
function shownPrompt({ name, description, arguments: values, write }: Prompt) {
  const required = Object.entries(values.shape).filter(([, schema]) => !schema.safeParse(undefined).success)
  const names = required.map(([argument]) => argument)
  const placeholders = Object.fromEntries(names.map(argument => [argument, `\${arguments.${argument}}`]))
  return { name, description, arguments: names, text: write(placeholders) }
}

/** The entry for the MCP registry: where the server is, and its settings. */
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

/** A default that only an MCPB client can fill in is omitted here. */
const variable = ({ variable: name, type, description, default: value, isRequired, isSecret }: Setting) => ({
  name,
  description,
  format: formats[type],
  isRequired: isRequired === true,
  isSecret: isSecret === true,
  ...(value === undefined || String(value).includes('${') ? {} : { default: String(value) }),
})

/** The members of package.json that other descriptions of the package repeat. */
interface PackageFacts {
  name: string
  version: string
  description: string
  license: string
  keywords: string[]
  /** The server's name in the MCP registry: reverse domain, a slash, the server. */
  mcpName: string
  engines: { node: string }
}

export const packageFacts = async (): Promise<PackageFacts> =>
  JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))

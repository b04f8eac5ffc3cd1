import { readFile } from 'node:fs/promises'
import { type AssistantClient, assistantClients, formatsChecked, type StartCommand } from '#cli/assistants/clients.ts'
import type { Machine } from '#cli/assistants/machine.ts'

const page = new URL('../../docs/assistants.md', import.meta.url)
const [begin, end] = ['<!-- clients: written by npm run generate -->', '<!-- end of clients -->']

/** The page on assistants with the table of clients of `farebox install`; everything else stays unchanged. */
export async function assistantsPage(): Promise<string> {
  const text = await readFile(page, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/assistants.md lacks the lines ${begin} and ${end}; put them back.`)
  return `${text.slice(0, from)}${begin}\n${lines().join('\n')}\n${text.slice(to)}`
}

const lines = (): string[] => [
  '| `CLIENT` | Configuration | Its entry | API key |',
  '|---|---|---|---|',
  ...assistantClients.map(client => {
    const key = client.apiKey === null ? 'no: use a wallet' : client.input ? 'the client asks' : `\`${client.apiKey}\``
    const place = `${client.format}, \`${client.keys.join('.')}\``
    return `| [\`${client.name}\`](${client.docs}) | ${pathsOf(client)} | ${place} | ${key} |`
  }),
  '',
  `The formats were compared with each client’s documentation on ${formatsChecked}. Some clients have a command or a link of their own, which \`farebox install CLIENT --print\` prints with the paths on this machine:`,
  '',
  '```sh',
  ...assistantClients.flatMap(({ ownCommand }) => (ownCommand ? [ownCommand(example).map(inQuotes).join(' ')] : [])),
  '```',
  '',
  '```',
  ...assistantClients.flatMap(({ link }) => (link ? [link(example)] : [])),
  '```',
]

const inQuotes = (word: string): string => (/[{\s]/.test(word) ? `'${word}'` : word)

const example: StartCommand = { command: 'node', args: ['/path/to/farebox/bin/farebox.mjs', 'mcp'], env: {} }

const machines: readonly [name: string, machine: Machine][] = [
  ['Linux', { platform: 'linux', env: { HOME: '~' } }],
  ['macOS', { platform: 'darwin', env: { HOME: '~' } }],
  ['Windows', { platform: 'win32', env: { USERPROFILE: '~', APPDATA: '%APPDATA%' } }],
]

/** Returns one path if all systems have the same one below the user’s folder. */
function pathsOf(client: AssistantClient): string {
  const paths = machines.map(([name, machine]) => [name, client.files(machine)[0]] as const)
  const [first = ''] = paths.map(([, path]) => path)
  if (paths.every(([, path]) => path.replaceAll('\\', '/') === first)) return `\`${first}\``
  const byPath = Map.groupBy(paths, ([, path]) => path)
  return [...byPath].map(([path, of]) => `${of.map(([name]) => name).join(', ')}: \`${path}\``).join('<br>')
}

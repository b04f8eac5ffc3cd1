import { posix } from 'node:path'

export interface Room {
  /** Where its files are, from the root of the repository. */
  folder: string
  /** Rooms that it may import, beside itself. */
  imports: readonly string[]
  /** Packages that it may import; any where absent. */
  packages?: readonly string[]
}

/** The house: one purpose a room, and the arrows between them. */
export const rooms: Readonly<Record<string, Room>> = {
  contract: { folder: 'src/contract', imports: [], packages: ['zod'] },
  toolkit: { folder: 'src/toolkit', imports: ['contract'], packages: ['zod'] },
  tools: { folder: 'tools', imports: ['toolkit', 'contract'], packages: ['zod'] },
  prompts: { folder: 'prompts', imports: ['toolkit', 'contract'], packages: ['zod'] },
  resources: { folder: 'resources', imports: ['toolkit', 'contract'], packages: ['zod'] },
  // What runs in a browser; a server imports what the two say to each other.
  pages: { folder: 'pages', imports: [], packages: ['preact', '@preact/signals', 'zod'] },
  host: { folder: 'src/host', imports: ['contract'] },
  client: { folder: 'src/client', imports: ['contract'] },
  wallet: { folder: 'src/wallet', imports: ['contract'] },
  agent: {
    folder: 'src/agent',
    imports: ['client', 'wallet', 'toolkit', 'tools', 'prompts', 'resources', 'pages', 'host', 'contract'],
  },
  mcp: { folder: 'src/mcp', imports: ['toolkit', 'contract'] },
  ledger: { folder: 'src/ledger', imports: ['host', 'contract'] },
  payments: { folder: 'src/payments', imports: ['ledger', 'host', 'contract'] },
  engines: { folder: 'src/engines', imports: ['host', 'contract'] },
  access: { folder: 'src/access', imports: ['ledger', 'host', 'contract'] },
  media: { folder: 'src/media', imports: ['ledger', 'host', 'contract'] },
  operator: { folder: 'src/operator', imports: ['access', 'ledger', 'pages', 'host', 'contract'] },
  account: { folder: 'src/account', imports: ['access', 'ledger', 'pages', 'host', 'contract'] },
  service: {
    folder: 'src/service',
    imports: ['access', 'ledger', 'payments', 'engines', 'media', 'operator', 'account', 'pages', 'host', 'contract'],
  },
  local: { folder: 'src/local', imports: ['contract'] },
  cli: {
    folder: 'src/cli',
    imports: [
      'agent',
      'mcp',
      'toolkit',
      'service',
      'access',
      'ledger',
      'payments',
      'engines',
      'media',
      'operator',
      'local',
      'pages',
      'host',
      'contract',
    ],
  },
}

/** The room of a file; undefined for tests, benches, scripts and examples, which may import anything. */
export const roomOf = (path: string): string | undefined =>
  Object.keys(rooms).find(name => path.startsWith(`${rooms[name]?.folder}/`))

/** Where an import leads: a path from the root for relative and `#room/` ones, undefined for packages. */
export function targetOf(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(importer), specifier)
  const match = /^#([^/]+)\/(.*)$/.exec(specifier)
  if (!match) return undefined
  const [, room = '', rest = ''] = match
  return `${rooms[room]?.folder ?? `src/${room}`}/${rest}`
}

/** `@scope/name/deep` is `@scope/name`, and `name/deep` is `name`. */
export const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

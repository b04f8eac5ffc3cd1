/**
 * What a test can need beside Node, npm, git and the packages of `npm ci`: a test says so by a tag, vitest skips it where
 * that is missing, and the end of a run lists what would bring it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestTagDefinition } from 'vitest'
import { peersFolder } from '../../bench/kit/install.ts'
import {
  engines,
  frameworks,
  gatewayOverrides,
  gateways,
  llama,
  nodes,
  protocol,
} from '../../scripts/peers/packages.ts'
import { findChromium, findPostgres, findProgram, findValkey } from './find-program.ts'

export interface Need {
  /** As a sentence names it, after "needs". */
  what: string
  isHere(): boolean
  /** Debian's packages of it; another command brings it, or none, where absent. */
  debian?: readonly string[]
  command?: string
}

const modules = join(import.meta.dirname, '../../node_modules')
const peers = (what: string, packages: Readonly<Record<string, string>>): Need => ({
  what,
  isHere: () => Object.keys(packages).every(name => existsSync(join(modules, name))),
  command: 'npm run peers',
})
const program = (what: string, name: string, ...debian: readonly string[]): Need => ({
  what,
  isHere: () => findProgram(name) !== null,
  debian,
})

/** A container may refuse it to root. */
function mayMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const folder = mkdtempSync(join(tmpdir(), 'farebox-mount-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status === 0
  if (mounted) spawnSync('umount', [folder])
  rmdirSync(folder)
  return mounted
}

export const needs = {
  postgresql: { what: 'PostgreSQL', isHere: () => findPostgres() !== null, debian: ['postgresql'] },
  valkey: { what: 'a Valkey or Redis server', isHere: () => findValkey() !== null, debian: ['redis-server'] },
  swift: program(
    'OpenStack Swift',
    'swift-proxy-server',
    ...['swift-proxy', 'swift-account', 'swift-container', 'swift-object', 'python3-swift'],
  ),
  ceph: program('Ceph’s gateway', 'radosgw', 'ceph-mon', 'ceph-osd', 'radosgw', 'ceph-common'),
  prometheus: program('Prometheus', 'promtool', 'prometheus'),
  'redis-cli': program('redis-cli', 'redis-cli', 'redis-tools'),
  openssl: program('openssl', 'openssl', 'openssl'),
  chromium: { what: 'Chromium', isHere: () => findChromium() !== null, debian: ['chromium-headless-shell'] },
  pocketsphinx: program('PocketSphinx', 'pocketsphinx_continuous', 'pocketsphinx', 'pocketsphinx-en-us'),
  mounts: { what: 'root’s right to mount a disk of memory', isHere: mayMount },
  cc: program('a C compiler', 'cc', 'gcc', 'libc6-dev'),
  nginx: program('nginx', 'nginx', 'nginx'),
  haproxy: program('HAProxy', 'haproxy', 'haproxy'),
  pgbouncer: program('PgBouncer', 'pgbouncer', 'pgbouncer'),
  systemd: program('systemd-analyze', 'systemd-analyze', 'systemd'),
  curl: program('curl', 'curl', 'curl'),
  engines: peers('the optional packages of engines', engines),
  llama: peers('node-llama-cpp', llama),
  protocol: peers('the protocol’s test suite and inspector', protocol),
  frameworks: peers('LangChain and Mastra', frameworks),
  nodes: peers('the oldest Node that farebox supports, and the newest', nodes),
  gateways: {
    what: 'the gateways that benchmarks compare with',
    isHere: () => existsSync(peersFolder('gateways', gateways, gatewayOverrides)),
    command: 'npm run peers',
  },
  'curve-addon': {
    what: 'an addon of secp256k1 for this machine',
    isHere: () => existsSync(join(modules, 'secp256k1/prebuilds', `${process.platform}-${process.arch}`)),
  },
  linux: { what: 'Linux', isHere: () => process.platform === 'linux' },
  posix: { what: 'a system with POSIX files and signals', isHere: () => process.platform !== 'win32' },
  'no-desktop': {
    what: 'a session without a desktop',
    isHere: () => process.env.DBUS_SESSION_BUS_ADDRESS === undefined,
  },
} satisfies Record<string, Need>

const byName = new Map<string, Need>(Object.entries(needs))

/** What brings it; null where no command can. */
export const commandOf = ({ debian, command }: Need): string | null =>
  debian ? `sudo apt-get install ${debian.join(' ')}` : (command ?? null)

/** "needs PostgreSQL (sudo apt-get install postgresql)" */
export function inWords(lacking: readonly Need[]): string {
  const what = lacking.map(({ what }) => what).join(' and ')
  const commands = [...new Set(lacking.map(commandOf))].filter(command => command !== null)
  return `needs ${what}${commands.length ? ` (${commands.join('; ')})` : ''}`
}

/** Which needs among the tags of a test are not met. */
export const lackingOf = (tags: readonly string[]): Need[] =>
  tags.flatMap(tag => byName.get(tag) ?? []).filter(need => !need.isHere())

/**
 * A tag for each need; it skips its tests where the need is not met. With `mustRun` it skips only what no command can
 * bring; the others fail.
 */
export const tagsOfNeeds = (
  mustRun: boolean,
  all: ReadonlyMap<string, Need> = byName,
): (TestTagDefinition & { name: string })[] =>
  [...all].map(([name, need]) => {
    const isSkipped = !need.isHere() && !(mustRun && commandOf(need) !== null)
    // Never `false`, which would run what its describe skips.
    return { name, description: inWords([need]), ...(isSkipped ? { skip: true } : {}) }
  })

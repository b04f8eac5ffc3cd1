import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { devNull } from 'node:os'
import { resolve } from 'node:path'
import { percentDecoded } from '#contract/wire/json.ts'
import { CliError } from '../command.ts'
import type { LedgerPlace } from '../data/ledger-place.ts'
import { withSecretBeside } from './backup-secret.ts'
import { backupFailure, kindOfBackup } from './sqlite-backup.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The schema of a service's tables; anything else in the database is not ours to copy. */
const schema = 'farebox'

/** Copies the database into a new file, and the secrets into another if requested. */
export async function backUpPostgres(
  ledger: LedgerPlace,
  url: string,
  file: string,
  withSecret: boolean,
): Promise<void> {
  const path = resolve(file)
  const dump = () => dumpInto(path, url, ledger.env)
  try {
    await (withSecret ? withSecretBeside(ledger, path, dump) : dump())
  } catch (error) {
    throw backupFailure(error, path)
  }
}

/** Writes a file in `pg_dump`'s own format: one snapshot, read once to the end. */
async function dumpInto(path: string, url: string, env: Environment): Promise<void> {
  const { writeWhole } = await import('#ledger/store/sqlite/backup.ts')
  await writeWhole(path, async part => {
    await runTool('pg_dump', ['--format=custom', `--schema=${schema}`, `--file=${part}`], url, env)
    await runTool('pg_restore', [`--file=${devNull}`, part], url, env)
  })
}

/** Fills an empty database, completely or not at all. */
export async function restorePostgres(url: string, file: string, env: Environment): Promise<void> {
  const path = resolve(file)
  if (!existsSync(path))
    throw new CliError(`There is no file ${path}.`, 'Give the path of a file from `farebox backup`.')
  if ((await kindOfBackup(path)) === 'sqlite') {
    throw new CliError('This is a backup of a ledger in SQLite.', 'Unset DATABASE_URL, then try again.')
  }
  const { PGDATABASE = '' } = postgresEnvironment(url)
  // Roles belong to a server, not a database: restored objects belong to the role that restores.
  const whole = ['--no-owner', '--no-privileges', '--single-transaction', '--exit-on-error']
  await runTool('pg_restore', [...whole, `--dbname=${PGDATABASE}`, path], url, env)
  await withdrawPrivileges(url)
}

/**
 * Not even their owner may change entries or delete accounts, as the migrations define; restoring without roles leaves
 * that out.
 */
async function withdrawPrivileges(url: string): Promise<void> {
  const { default: driver } = await import('pg')
  const client = new driver.Client({ connectionString: url, application_name: 'farebox restore' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(`REVOKE UPDATE, DELETE, TRUNCATE ON ${schema}.entry FROM CURRENT_USER, PUBLIC`)
    await client.query(`REVOKE DELETE, TRUNCATE ON ${schema}.account FROM CURRENT_USER, PUBLIC`)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Parameters of a database address, by the variable that PostgreSQL's programs read. */
const parameters: Readonly<Record<string, string>> = {
  user: 'PGUSER',
  password: 'PGPASSWORD',
  host: 'PGHOST',
  port: 'PGPORT',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
}

/** Passes a database address to PostgreSQL's programs in the environment, because anyone can read arguments. */
export function postgresEnvironment(url: string): Record<string, string> {
  const parsed = parseUrl(url)
  const named: Record<string, string> = {
    PGHOST: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    PGPORT: parsed.port,
    PGUSER: percentDecoded(parsed.username),
    PGPASSWORD: percentDecoded(parsed.password),
    PGDATABASE: percentDecoded(parsed.pathname.slice(1)),
  }
  for (const [name, value] of parsed.searchParams) if (parameters[name]) named[parameters[name]] = value
  // Only our driver has this mode; PostgreSQL's programs check no certificate with `require`.
  if (named.PGSSLMODE === 'no-verify') named.PGSSLMODE = 'require'
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ''))
}

function parseUrl(url: string): URL {
  try {
    // `postgres:` is not a special URL scheme, so the host may be missing if a socket is used.
    return new URL(url)
  } catch {
    throw new CliError(
      'DATABASE_URL is not the address of a database.',
      'Write it as postgres://USER:PASSWORD@HOST/DATABASE.',
    )
  }
}

type Tool = 'pg_dump' | 'pg_restore'

async function runTool(tool: Tool, args: readonly string[], url: string, env: Environment): Promise<void> {
  const { PATH, HOME, LANG, SystemRoot, PGPASSFILE, PGSSLROOTCERT } = env
  const inherited = { PATH, HOME, LANG, SystemRoot, PGPASSFILE, PGSSLROOTCERT }
  const child = spawn(tool, ['--no-password', ...args].filter(isTaken(tool)), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...inherited, ...postgresEnvironment(url), LC_MESSAGES: 'C', PGAPPNAME: 'farebox' },
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-mostWords)
  })
  const [code] = (await once(child, 'close').catch(error => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw missing(tool)
    throw error
  })) as [number | null]
  if (code !== 0) throw toolFailure(tool, stderr)
}

/** `pg_restore` recognizes passwords only when it connects. */
const isTaken =
  (tool: Tool) =>
  (arg: string, _at: number, args: string[]): boolean =>
    arg !== '--no-password' || tool === 'pg_dump' || args.some(each => each.startsWith('--dbname='))

/** How much of a program's error output is read. */
const mostWords = 4_000

const missing = (tool: Tool): CliError =>
  new CliError(
    `\`${tool}\` is not installed.`,
    "Install PostgreSQL's client tools on PATH, in the server's version or newer.",
  )

const complaints: readonly [RegExp, sentence: string, next: string][] = [
  [/server version mismatch/, 'is older than the server.', "Install the client tools of the server's version."],
  [/unsupported version|not appear to be a valid archive/, 'cannot read this file.', 'Give a backup of this database.'],
  [
    /root certificate file|certificate verify failed/,
    'does not trust the certificate of the server.',
    'Add `sslrootcert=FILE` with the certificate authority of your provider to DATABASE_URL, or set PGSSLROOTCERT=system, which needs client tools 16 or newer.',
  ],
  [/password authentication failed|no password supplied/, 'was refused access.', 'Check the user in DATABASE_URL.'],
  [/does not exist/, 'found no such database.', 'Create an empty one, or check DATABASE_URL.'],
  [/already exists/, 'found that the database is not empty.', 'Restore into an empty database.'],
  [/could not connect|connection to server/, 'cannot connect to the server.', 'Start it, or check DATABASE_URL.'],
  [/No space left/, 'ran out of disk space.', 'Free some space, or give a file on another disk.'],
]

function toolFailure(tool: Tool, stderr: string): CliError {
  const known = complaints.find(([pattern]) => pattern.test(stderr))
  if (known) return new CliError(`\`${tool}\` ${known[1]}`, known[2])
  const line =
    stderr
      .trim()
      .split('\n')
      .at(-1)
      ?.replaceAll(/\p{Cc}/gu, ' ') ?? ''
  return new CliError(`\`${tool}\` failed: ${line.slice(0, 300)}`, 'Fix that, then try again.')
}

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isPublicAddress } from '#contract/wire/network-address.ts'
import { silentLog } from '#host/log.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import type { ConfigFault } from '#service/config/config-values.ts'
import type { Config } from '#service/config/read-config.ts'
import { CliError } from '../command.ts'
import { defaultConfig } from '../data/data-folder.ts'
import type { Output } from '../output.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Throws a `CliError` if there is none, and `ConfigRefused` with its errors. */
export async function loadConfig(path: string, env: Environment): Promise<Config> {
  return (await loadVersion(path, env)).config
}

/** Like `loadConfig`, but also returns the version of the file, by which a later change is noticed. */
export async function loadVersion(path: string, env: Environment): Promise<{ config: Config; version: string }> {
  const { readConfig } = await import('#service/config/read-config.ts')
  const text = await readWhole(path)
  return { config: readConfig(text, env), version: versionOf(text) }
}

/** Distinguishes one version of the file from another. */
export const versionOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * The work of `farebox serve --check`: also creates every engine and reads every key, but makes no request. Throws
 * `ConfigRefused` with the errors.
 */
export async function checkedWhole(text: string, env: Environment): Promise<Config> {
  const { readConfig } = await import('#service/config/read-config.ts')
  const config = readConfig(text, env)
  await checkWhole(config)
  return config
}

/** Creates every engine of a configuration and reads every key, to see that it can be served. */
export async function checkWhole(config: Config): Promise<void> {
  const { KeptEngines } = await import('#service/config/define-kind.ts')
  const kept = new KeptEngines()
  const models = config.openModels({ folder: '.', log: silentLog, keep: (name, make) => kept.keep(name, make) })
  await Promise.all(models.map(model => model.close?.()))
  await kept.close()
  config.checkPayments()
}

/** The text of the file. Throws a `CliError` if it cannot be read. */
export async function readWhole(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path))
  } catch (error) {
    // Otherwise unreadable letters would become part of a name or a path.
    if (error instanceof TypeError)
      throw new CliError(`${path} is not written in UTF-8.`, 'Save it as UTF-8 in an editor, then try again.')
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') {
      throw new CliError(
        `${path} does not exist.`,
        'Create it with `farebox init`, or name another file with `--config`.',
      )
    }
    if (code === 'EISDIR')
      throw new CliError(`${path} is a folder.`, 'Name a file in it with `--config FILE`, usually farebox.yaml.')
    throw new CliError(`${path} cannot be read (${code}).`, 'Check its permissions.')
  }
}

/** Prints every fault on a line of its own, then ends the command; other errors pass. */
export async function orTellFaults<Value>(path: string, output: Output, run: () => Promise<Value>): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    const faults = faultsOf(error)
    if (!faults) throw error
    const { faultLine } = await import('#service/config/config-values.ts')
    for (const fault of faults) output.note(faultLine(path, fault))
    const many = faults.length === 1 ? 'an error' : `${faults.length} errors`
    const { inShell } = await import('#agent/words/typed-commands.ts')
    const named = path === defaultConfig ? '' : ` --config ${inShell(path)}`
    throw new CliError(
      `${path} has ${many}.`,
      `Fix ${faults.length === 1 ? 'it' : 'them'}, then run \`farebox serve --check${named}\`.`,
    )
  }
}

/** Compared by name, because loading the class would load the configuration's code. */
export const faultsOf = (error: unknown): readonly ConfigFault[] | null =>
  error instanceof Error && error.name === 'ConfigRefused' ? (error as Error & { faults: ConfigFault[] }).faults : null

/** Describes what a configuration would serve, without a secret. */
export function configFacts(file: ConfigFile) {
  const { publicUrl, listen, payments, models } = file
  const proxies = proxyAdvice(file)
  const served = models as unknown as {
    id: string
    type: string
    enabled: boolean
    upstreams: { engine: string }[]
  }[]
  return {
    publicUrl,
    listen: `${listen.host}:${listen.port}`,
    rails: payments ? ['EVM', ...(payments.solana ? ['Solana'] : [])] : [],
    proxies: proxies ? [proxies.says, proxies.next].filter(Boolean).join(' ') : null,
    otherFeatures: besideModels(file),
    models: served.map(({ id, type, enabled, upstreams }) => ({
      ...{ id, type, enabled, engines: upstreams.map(({ engine }) => engine) },
    })),
  }
}

/** Describes what a configuration would serve, in sentences for the operator. */
export async function sayConfig(file: ConfigFile, output: Output): Promise<string[]> {
  const { publicUrl, listen, rails, proxies, otherFeatures, models } = configFacts(file)
  const { tableLines } = await import('../show/table.ts')
  const rows = models.map(({ id, type, engines, enabled }) => [
    ...[id, type, `${engines.join(', ')}${enabled ? '' : ' (not enabled)'}`],
  ])
  return [
    `The configuration is valid. It serves ${publicUrl} on ${listen}.`,
    ...(proxies === null ? [] : [proxies]),
    rails.length ? `Top-ups in USDC on ${rails.join(' and ')}.` : 'No top-ups: only operators give credit.',
    ...(otherFeatures.length ? [`Other features: ${otherFeatures.join('; ')}.`] : []),
    'Models:',
    ...tableLines({ rows, indent: 2, isAligned: true }, output),
  ]
}

function besideModels({ search, pages, networks, characters, transcriber, faces, moderation }: ConfigFile): string[] {
  return [
    ...(search ? [`searches (${search.engine})`] : []),
    ...(pages ? [`pages (${pages.engine})`] : []),
    ...(networks.length ? [`nodes for ${networks.map(({ slug }) => slug).join(', ')}`] : []),
    ...(characters.length ? [`characters ${characters.map(({ slug }) => slug).join(', ')}`] : []),
    ...(transcriber ? [`video transcripts (${transcriber.engine})`] : []),
    ...(faces ? [`face detection (${faces})`] : []),
    ...(moderation ? [`image moderation (${moderation.engine})`] : []),
  ]
}

/** Advice for an operator about proxies in front of the service; `next` is what to do. */
interface ProxyAdvice {
  says: string
  next?: string
}

const isEveryInterface = (host: string): boolean => host === '0.0.0.0' || host === '::'

/**
 * Whether callers can be told apart by address: behind a proxy that is not configured, all have the same one. Null if
 * only this network can reach the service.
 */
export function proxyAdvice({
  listen,
  trustedProxies,
}: Pick<ConfigFile, 'listen' | 'trustedProxies'>): ProxyAdvice | null {
  if (trustedProxies.length)
    return { says: `Callers’ addresses are taken from the headers of ${trustedProxies.join(', ')}.` }
  if (!isEveryInterface(listen.host) && !isPublicAddress(listen.host)) return null
  return {
    says: `The service listens on ${listen.host}, which other machines can reach, and trusts no proxy.`,
    next: 'If there is a proxy in front of it, list it in `trustedProxies`. Otherwise all callers share one address, with its limits and its abuse block.',
  }
}

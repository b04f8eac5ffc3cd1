import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openOperator } from '#cli/admin/operator.ts'
import { ledgerPlaceOf } from '#cli/data/ledger-place.ts'
import { microUsd } from '#contract/money.ts'
import { bundle } from '../../scripts/build/bundle.ts'
import { writeSupportedNode } from '../../scripts/build/supported-node.ts'
import { freePort } from '../../test/postgres/cluster.ts'
import { ServerProcess } from './server-process.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The mock upstream uses the same name for this model, so nothing in an answer needs to be rewritten. */
export const sameName = 'bench-chat'
/** A model that callers know by another name than the engine. */
export const otherName = 'bench-chat-public'

/** Needs no key and does not call the engine. */
export const readyPath = '/api/v1/models'

/** Customers with a key each, over which the load is spread. */
export const customers = 64

/** The runnable part of `dist`. */
async function buildRunnable(dist: string): Promise<void> {
  await mkdir(dist)
  await bundle(root, dist)
  await writeSupportedNode(root, dist)
}

/** Builds the runnable part of the package, as npm would unpack it, next to its dependencies. Returns its launcher. */
export async function packedProduct(folder: string, build = buildRunnable): Promise<string> {
  const installed = join(folder, 'node_modules/farebox')
  await mkdir(installed, { recursive: true })
  await build(join(installed, 'dist'))
  await cp(join(root, 'bin'), join(installed, 'bin'), { recursive: true })
  await cp(join(root, 'package.json'), join(installed, 'package.json'))
  for (const name of ['zod', 'redis', 'litesvm', '@foundry-rs/anvil', 'node-av']) {
    await mkdir(join(folder, 'node_modules', name, '..'), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'dir')
  }
  return launcherIn(folder)
}

export const launcherIn = (folder: string): string => join(folder, 'node_modules/farebox/bin/farebox.mjs')

export interface Installation {
  /** The launcher of the packed product. */
  launcher: string
  /** For everything that a run writes; removed at its end. */
  folder: string
}

/** Runs the measurement with the packed product and a folder, and removes both. */
export async function withProduct(
  product: string | undefined,
  measure: (of: Installation) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-bench-'))
  try {
    if (!product) process.stderr.write('Building farebox.\n')
    const launcher = product ? launcherIn(product) : await packedProduct(join(folder, 'product'))
    await measure({ launcher, folder })
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.exitCode = 1
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

export interface ServiceOrder extends Installation {
  name: string
  /** Its data folder, if several of this name run one after another. */
  folderName?: string
  /** Where the mock upstream listens. */
  upstreamPort: number
  /** How many customers it has; 64 by default. */
  customers?: number
  /** PostgreSQL instead of a file. */
  database?: string
  valkey?: string
  /** Arguments of its Node, before the launcher. */
  nodeArgs?: readonly string[]
  /** Where it runs; the servers' core by default. */
  cores?: string
}

export interface Prepared {
  port: number
  data: string
  config: string
  keys: string[]
  accounts: string[]
  env: NodeJS.ProcessEnv
}

/** Writes a service's configuration and creates its customers, each with 10,000,000 USD. */
export async function prepareService(order: Omit<ServiceOrder, 'launcher'>): Promise<Prepared> {
  const data = join(order.folder, (order.folderName ?? order.name).replaceAll(/[^a-z0-9]+/g, '-'))
  await mkdir(data, { recursive: true })
  const port = await freePort()
  const config = join(data, 'farebox.yaml')
  await writeFile(config, configOf(order, port, data))
  const database = order.database ? { DATABASE_URL: order.database } : {}
  const env = { FAREBOX_SECRET: 'a secret of a benchmark, which guards nothing', ...database }
  const operator = await openOperator(await ledgerPlaceOf(data, env))
  const keys: string[] = []
  const accounts: string[] = []
  try {
    for (let made = 0; made < (order.customers ?? customers); made++) {
      const { key, account } = await operator.createKey({
        usd: '10000000',
        amountMicroUsd: microUsd(10n ** 13n),
        label: '',
      })
      keys.push(key)
      accounts.push(account)
    }
  } finally {
    await operator.close()
  }
  return { port, data, config, keys, accounts, env }
}

/**
 * Runs `farebox serve` as an operator would: keys with credit, limits that are counted, durable charges, an upstream.
 */
export const startService = ({ launcher, name, nodeArgs = [], cores }: ServiceOrder, { port, config, env }: Prepared) =>
  ServerProcess.start({
    ...{ name, port, readyPath, env },
    args: [...nodeArgs, launcher, 'serve', '--config', config],
    ...(cores === undefined ? {} : { cores }),
  })

function configOf(
  { upstreamPort, database, valkey }: Omit<ServiceOrder, 'launcher'>,
  port: number,
  data: string,
): string {
  const model = (id: string) => ({
    id,
    type: 'text',
    contextTokens: 131_072,
    maximumCompletionTokens: 16_384,
    price: { inputPerMillionUsd: 0.6, outputPerMillionUsd: 2.4 },
    upstreams: [
      {
        engine: 'openai',
        baseUrl: `http://127.0.0.1:${upstreamPort}/v1`,
        model: sameName,
        concurrency: 100_000,
      },
    ],
  })
  const most = { requestsPerMinute: 10_000_000, tokensPerMinute: 100_000_000_000 }
  return JSON.stringify({
    publicUrl: `http://127.0.0.1:${port}`,
    listen: `127.0.0.1:${port}`,
    data,
    // A variable of its environment, in the configuration's own syntax.
    secrets: ['$' + '{FAREBOX_SECRET}'],
    ...(database ? { database } : {}),
    ...(valkey ? { valkey } : {}),
    // High enough for the load, but counted like any other.
    limits: { models: { [sameName]: most, [otherName]: most } },
    models: [model(sameName), model(otherName)],
  })
}

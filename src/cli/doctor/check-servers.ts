import type { ConfigFile } from '#service/config/config-schema.ts'
import { ask, askNode, broken, type Finding, hostOf, note, ok } from './finding.ts'

interface Server {
  baseUrl: string
  apiKey?: string
  /** An address that answers without being paid. */
  path: string
  models: string[]
}

/** Servers to check at once; a file may name hundreds. */
const askedAtOnce = 8

/** Checks whether every server that runs a model is reachable, and accepts its key. Each is asked once. */
export async function checkEngines(file: ConfigFile): Promise<Finding[]> {
  const servers = serversOf(file)
  const found: Finding[] = []
  for (let at = 0; at < servers.length; at += askedAtOnce)
    found.push(...(await Promise.all(servers.slice(at, at + askedAtOnce).map(checkServer))))
  return found
}

const paths: Readonly<Record<string, string>> = { openai: '/models', service: '/models', comfyui: '/system_stats' }

function serversOf({ models, search, transcriber, moderation }: ConfigFile): Server[] {
  const servers = new Map<string, Server>()
  const add = (upstream: { engine: string; baseUrl?: string; apiKey?: string }, of: string) => {
    const { engine, baseUrl, apiKey } = upstream
    if (!baseUrl) return
    const known = servers.get(`${baseUrl} ${apiKey ?? ''}`)
    if (known) known.models.push(of)
    else {
      const server = { baseUrl, path: paths[engine] ?? '/', models: [of] }
      servers.set(`${baseUrl} ${apiKey ?? ''}`, apiKey === undefined ? server : { ...server, apiKey })
    }
  }
  const all = models as unknown as { id: string; upstreams: { engine: string; baseUrl?: string; apiKey?: string }[] }[]
  for (const { id, upstreams } of all) for (const upstream of upstreams) add(upstream, id)
  if (search?.engine === 'searxng') add(search, 'searches')
  if (transcriber?.engine === 'openai') add(transcriber as { engine: string; baseUrl: string }, 'video transcripts')
  if (moderation?.engine === 'openai') add(moderation as { engine: string; baseUrl: string }, 'image moderation')
  return [...servers.values()]
}

async function checkServer({ baseUrl, apiKey, path, models }: Server): Promise<Finding> {
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  const { status, reason } = await ask(`${baseUrl.replace(/\/+$/, '')}${path}`, { headers })
  const [host, of] = [hostOf(baseUrl), [...new Set(models)].slice(0, 5).join(', ')]
  const check = 'engine'
  if (status === 0)
    return broken(check, `${host} (${of}) cannot be reached: ${reason}.`, 'Start it, or fix its `baseUrl`.')
  if (status === 401 || status === 403)
    return broken(check, `${host} (${of}) refuses its key (${status}).`, 'Check its `apiKey`.')
  if (status >= 500) return broken(check, `${host} (${of}) answers ${status}.`, 'Check its log.')
  if (status >= 300)
    return note(check, `${host} (${of}) answers, but not at ${path} (${status}).`, 'Check the path in its `baseUrl`.')
  return ok(check, `${host} (${of}) answers.`)
}

type Payments = NonNullable<ConfigFile['payments']>

/** How many settlements the key should have gas for: some hours of a small service. */
const settlementsAhead = 20n
/** Gas of one transfer by authorization, with a margin. */
const gasOfSettlement = 100_000n
const lamportsOfSettlement = 10_000n

/** Servers whose clocks differ by more eventually reject each other's signatures. */
const skewMs = 30_000

/** Checks nodes, facilitators, gas and terms of the configured rails. */
export async function checkPayments(payments: Payments | undefined): Promise<Finding[]> {
  if (!payments)
    return [note('payments', 'Top-ups are not configured: only operators give credit.', 'See docs/payments.md.')]
  const found = await Promise.all([
    evmNode(payments.evm),
    facilitator(payments.evm.facilitator),
    ...(payments.solana ? [solanaNode(payments.solana), facilitator(payments.solana.facilitator)] : []),
  ])
  const findings = found.flat()
  // What is broken already would be found a second time.
  return findings.every(({ state }) => state === 'ok') ? [...findings, ...(await terms(payments))] : findings
}

/** Asks what the service asks before it offers top-ups, such as whether the token has the configured name. */
async function terms(payments: Payments): Promise<Finding[]> {
  const [{ rails }, { paymentSettings }, { systemClock }] = await Promise.all([
    import('#payments/rails/rails.ts'),
    import('#service/config/payment-config.ts'),
    import('#contract/time.ts'),
  ])
  const settings = paymentSettings(payments)
  const found = await Promise.all(
    rails.map(async (rail): Promise<Finding[]> => {
      const opened = await rail.open(settings, systemClock)
      const problems = await Promise.all(rail.options(settings).map(option => opened?.facilitator.problem(option)))
      await opened?.facilitator.close?.()
      return problems.flatMap(problem => (problem ? [broken('terms', problem, noTopUps)] : []))
    }),
  )
  const problems = found.flat()
  return problems.length ? problems : [ok('terms', 'Top-ups can be settled on the offered terms.')]
}

const noTopUps = 'Until then, no top-up is credited.'

async function evmNode({ rpcUrl, network, facilitatorKey }: Payments['evm']): Promise<Finding[]> {
  const [check, host] = ['chain', hostOf(rpcUrl)]
  const { result, status, reason } = await askNode(rpcUrl, 'eth_chainId')
  const checkNode = 'Check `payments.evm.rpcUrl`; until then, no top-up is credited.'
  if (typeof result !== 'string')
    return [broken(check, `The node at ${host} does not answer (${reason || status}).`, checkNode)]
  const id = Number(result)
  if (network !== `eip155:${id}`)
    return [broken(check, `The node at ${host} serves eip155:${id}, but payments are on ${network}.`, checkNode)]
  const [block, price] = await Promise.all([
    askNode(rpcUrl, 'eth_getBlockByNumber', ['latest', false]),
    askNode(rpcUrl, 'eth_gasPrice'),
  ])
  return [
    ok(check, `The node at ${host} answers for ${network}.`),
    ...clock(block.atMs),
    ...(facilitatorKey ? await evmGas(rpcUrl, facilitatorKey, price.result) : []),
  ]
}

/** Compares this machine's clock with that of a server that was called anyway. */
function clock(atMs: number | null): Finding[] {
  if (atMs === null) return []
  const offMs = Math.abs(Date.now() - atMs)
  if (offMs < skewMs) return [ok('clock', 'This machine’s clock agrees with the node’s clock.')]
  return [
    broken(
      'clock',
      `This machine’s clock is ${Math.round(offMs / 1000)} s off.`,
      'Synchronize it with NTP: signatures are valid only for a short time.',
    ),
  ]
}

async function evmGas(rpcUrl: string, key: string, gasPrice: unknown): Promise<Finding[]> {
  const { privateKeyToAccount } = await import('viem/accounts')
  const { address } = privateKeyToAccount(key as `0x${string}`)
  const { result } = await askNode(rpcUrl, 'eth_getBalance', [address, 'latest'])
  const [balance, price] = [bigintOf(result), bigintOf(gasPrice)]
  if (balance === null || price === null) return []
  return [gas(address, balance, price * gasOfSettlement)]
}

async function solanaNode({ rpcUrl, feePayerKey }: NonNullable<Payments['solana']>): Promise<Finding[]> {
  const [check, host] = ['chain', hostOf(rpcUrl)]
  const { result, status, reason } = await askNode(rpcUrl, 'getHealth')
  if (result !== 'ok')
    return [
      broken(
        check,
        `The Solana node at ${host} is not healthy (${reason || status}).`,
        'Check `payments.solana.rpcUrl`.',
      ),
    ]
  const healthy = ok(check, `The Solana node at ${host} answers.`)
  if (!feePayerKey) return [healthy]
  const { SolanaKey } = await import('#payments/solana/solana-key.ts')
  const { address } = new SolanaKey(feePayerKey)
  const { result: answer } = await askNode(rpcUrl, 'getBalance', [address])
  const balance = bigintOf((answer as { value?: unknown } | null)?.value)
  return [healthy, ...(balance === null ? [] : [gas(address, balance, lamportsOfSettlement)])]
}

function gas(address: string, balance: bigint, ofOne: bigint): Finding {
  const settlements = ofOne > 0n ? balance / ofOne : settlementsAhead
  const next = `Send some of the chain’s native coin to ${address}, which pays the fees for top-ups.`
  if (settlements === 0n) return broken('gas', `${address} cannot pay for a settlement.`, next)
  if (settlements < settlementsAhead)
    return note('gas', `${address} can pay for about ${settlements} settlements.`, next)
  return ok(
    'gas',
    `${address} has gas for ${settlements > 1_000_000n ? 'more than a million settlements' : `about ${settlements} settlements`}.`,
  )
}

const bigintOf = (value: unknown): bigint | null =>
  (typeof value === 'string' && /^(0x[0-9a-f]+|\d+)$/i.test(value)) ||
  (typeof value === 'number' && Number.isSafeInteger(value))
    ? BigInt(value)
    : null

async function facilitator(remote: Payments['evm']['facilitator']): Promise<Finding[]> {
  if (!remote) return []
  const { facilitatorSettings } = await import('#service/config/payment-config.ts')
  const { url: base, headers } = facilitatorSettings(remote)
  const url = new URL(`${base.replace(/\/+$/, '')}/supported`)
  const signed = await headers?.({ action: 'supported', method: 'GET', url })
  const { status, reason } = await ask(url.href, signed ? { headers: { ...signed } } : {})
  const [check, host] = ['facilitator', hostOf(base)]
  if (status === 200) return [ok(check, `${host} answers.`)]
  if (status === 401 || status === 403) {
    const next = `Check \`${remote.cdp ? 'cdp' : 'authorization'}\` of the facilitator.`
    return [broken(check, `${host} refuses its credentials (${status}).`, next)]
  }
  const answered = `${host} did not report what it supports (${reason || status}).`
  return [broken(check, answered, 'Check `url` of the facilitator.')]
}

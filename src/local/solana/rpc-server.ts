import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Address, isAddress } from '@solana/kit'
import { z } from 'zod'
import { isObject, jsonOf } from '#contract/wire/json.ts'
import { NodeError, nodeCodes } from './executed.ts'
import type { SolanaNode } from './node.ts'
import {
  accountAnswer,
  memoOf,
  statusAnswer,
  tokenAccountsOf,
  tokenBalanceAnswer,
  transactionAnswer,
} from './rpc-answers.ts'
import type { Commitment } from './slots.ts'
import { mintUsdc, usdcBalance } from './token.ts'

/** Largest body: a hundred addresses, or the largest transaction, with plenty to spare. */
const bodyBytes = 100_000

const Call = z.object({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.array(z.unknown()).optional(),
})

/** JSON-RPC over HTTP, for programs on this machine. */
export function serveNode(node: SolanaNode, methods: Readonly<Record<string, Method>>): Server {
  const server = createServer((request, response) => {
    answerRequest(request, response, node, methods).catch(() => response.destroy())
  })
  // Clients close idle connections: if this end closed one, it might already carry a request.
  server.keepAliveTimeout = 0
  return server
}

async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  node: SolanaNode,
  methods: Readonly<Record<string, Method>>,
): Promise<void> {
  if (!isFromThisMachine(request)) return void response.writeHead(403).end()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytes) return void response.writeHead(413, { connection: 'close' }).end()
    chunks.push(chunk)
  }
  const answer = await answerCall(Buffer.concat(chunks).toString(), node, methods)
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer, numbersOfBigints))
}

/**
 * A page in a browser can neither send this content type without permission, nor use a loopback host name of its own.
 */
function isFromThisMachine({ method, headers }: IncomingMessage): boolean {
  const isJson = headers['content-type']?.startsWith('application/json') ?? false
  return method === 'POST' && isJson && /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? '')
}

async function answerCall(text: string, node: SolanaNode, methods: Readonly<Record<string, Method>>) {
  const parsed = Call.safeParse(jsonOf(text))
  if (!parsed.success) return refusal(null, new NodeError(nodeCodes.invalidRequest, 'Invalid request'))
  const { id = null, method, params = [] } = parsed.data
  try {
    const answer = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!answer) throw new NodeError(nodeCodes.methodNotFound, 'Method not found')
    return { jsonrpc: '2.0', result: await answer({ node, params, config: configOf(params) }), id }
  } catch (error) {
    return refusal(id, error instanceof NodeError ? error : new NodeError(-32603, `Internal error: ${String(error)}`))
  }
}

const refusal = (id: unknown, { code, message, data }: NodeError) => ({
  jsonrpc: '2.0',
  error: data === undefined ? { code, message } : { code, message, data },
  id,
})

function configOf(params: readonly unknown[]): Config {
  const last = params.at(-1)
  return isObject(last) ? (last as Config) : {}
}

/** All numbers on this chain fit into a double. */
const numbersOfBigints = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)

/**
 * A genesis hash like that of the devnet, which this chain imitates, as the EVM chain uses 8453. Nothing that is signed
 * here is valid there, because the blockhashes differ.
 */
const genesisHash = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'

const slotsInEpoch = 432_000
const mostAccounts = 100
const mostSignatures = 256
const mostListed = 1_000
const mostMinted = 10n ** 15n

/** Options of a request in addition to its first parameters. */
type Config = Readonly<Record<string, unknown>>

interface Question {
  node: SolanaNode
  params: readonly unknown[]
  /** The last parameter if it is an object, else empty. */
  config: Config
}

type Method = (question: Question) => unknown

/**
 * The methods that clients, facilitators, readers of payments and wallets use, and four that only local chains have.
 */
export function solanaMethods(instanceId: string, changed: () => void): Readonly<Record<string, Method>> {
  return {
    ...chainMethods,
    ...accountMethods,
    ...transactionMethods(changed),
    farebox_chain: () => ({ instanceId }),
    async farebox_mintUsdc({ node, params }) {
      const [owner, amount] = [addressIn(params[0]), amountIn(params[1])]
      const signature = await mintUsdc(node, owner, amount)
      changed()
      return { signature, balance: `${await usdcBalance(node, owner)}` }
    },
    farebox_usdcBalance: async ({ node, params }) => `${await usdcBalance(node, addressIn(params[0]))}`,
    farebox_advanceBlocks: ({ node, params }) => {
      node.slots.advance(wholeNumber(params[0]))
      changed()
      return node.slots.heightAt()
    },
    farebox_setFinality: ({ node, params }) => {
      node.slots.finality = { confirmed: wholeNumber(params[0]), finalized: wholeNumber(params[1]) }
      return node.slots.finality
    },
  }
}

const chainMethods: Readonly<Record<string, Method>> = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': '2.0.0', 'feature-set': 0 }),
  getGenesisHash: () => genesisHash,
  getFirstAvailableBlock: () => 0,
  getSlot: ({ node, config }) => node.slots.slotAt(commitmentIn(config)),
  getBlockHeight: ({ node, config }) => node.slots.heightAt(commitmentIn(config)),
  getEpochInfo: ({ node, config }) => {
    const [absoluteSlot, blockHeight] = [
      node.slots.slotAt(commitmentIn(config)),
      node.slots.heightAt(commitmentIn(config)),
    ]
    const [epoch, slotIndex] = [Math.floor(absoluteSlot / slotsInEpoch), absoluteSlot % slotsInEpoch]
    return { absoluteSlot, blockHeight, epoch, slotIndex, slotsInEpoch, transactionCount: null }
  },
  getLatestBlockhash: ({ node, config }) => inContext(node, node.slots.latestBlockhash(commitmentIn(config))),
  isBlockhashValid: ({ node, params, config }) =>
    inContext(node, node.slots.isValid(textIn(params[0]), commitmentIn(config)), commitmentIn(config)),
  getRecentPrioritizationFees: () => [],
  getMinimumBalanceForRentExemption: ({ node, params }) => node.rentFor(wholeNumber(params[0])),
}

/** Accounts are read as of the latest transaction, whatever commitment is requested. */
const accountMethods: Readonly<Record<string, Method>> = {
  getBalance: ({ node, params }) => inContext(node, node.account(addressIn(params[0]))?.lamports ?? 0n),
  getAccountInfo: ({ node, params, config }) =>
    inContext(node, accountAnswer(node, node.account(addressIn(params[0])), config.encoding)),
  getMultipleAccounts: ({ node, params, config }) => {
    const addresses = listIn(params[0], mostAccounts).map(addressIn)
    return inContext(
      node,
      addresses.map(each => accountAnswer(node, node.account(each), config.encoding ?? 'base64')),
    )
  },
  getTokenAccountBalance: ({ node, params }) => {
    const balance = tokenBalanceAnswer(node, addressIn(params[0]))
    if (!balance) throw new NodeError(nodeCodes.invalidParams, 'Invalid param: could not find account')
    return inContext(node, balance)
  },
  getTokenAccountsByOwner: ({ node, params, config }) => {
    const filter = (params[1] ?? {}) as Config
    const mint = filter.mint === undefined ? null : addressIn(filter.mint)
    const found = tokenAccountsOf(node, addressIn(params[0]), mint)
    const encoding = params.length > 2 ? config.encoding : undefined
    return inContext(
      node,
      found.map(({ address, account }) => ({ pubkey: address, account: accountAnswer(node, account, encoding) })),
    )
  },
}

const transactionMethods = (changed: () => void): Readonly<Record<string, Method>> => ({
  simulateTransaction: ({ node, params, config }) => {
    const checks = { signatures: config.sigVerify === true, blockhash: config.replaceRecentBlockhash !== true }
    const { err, logs, units } = node.simulate(bytesIn(params[0], config), checks)
    return inContext(node, {
      err,
      logs,
      unitsConsumed: units,
      accounts: null,
      returnData: null,
      innerInstructions: null,
    })
  },
  sendTransaction: ({ node, params, config }) => {
    const signature = node.send(bytesIn(params[0], config), config.skipPreflight !== true)
    changed()
    return signature
  },
  getSignatureStatuses: ({ node, params }) =>
    inContext(
      node,
      listIn(params[0], mostSignatures).map(each => statusAnswer(node.executedOf(textIn(each)), node.slots)),
    ),
  getSignaturesForAddress: ({ node, params, config }) => {
    const all = node.executedWith(addressIn(params[0]))
    const from = config.before === undefined ? 0 : all.findIndex(each => each.signature === config.before) + 1
    const until = all.findIndex(each => each.signature === config.until)
    const limit = config.limit === undefined ? mostListed : Math.min(wholeNumber(config.limit), mostListed)
    return all
      .slice(from, until === -1 ? undefined : until)
      .slice(0, limit)
      .map(executed => {
        const { signature, slot, err, atSeconds, height } = executed
        const { status } = node.slots.commitmentOf(height)
        return { signature, slot, err, blockTime: atSeconds, memo: memoOf(executed), confirmationStatus: status }
      })
  },
  getTransaction: ({ node, params, config }) => {
    const executed = node.executedOf(textIn(params[0]))
    const isDeep = executed && executed.height <= node.slots.heightAt(commitmentIn(config))
    return isDeep ? transactionAnswer(executed, config.encoding) : null
  },
  requestAirdrop: ({ node, params }) => {
    node.airdrop(addressIn(params[0]), BigInt(wholeNumber(params[1])))
    changed()
    // No transaction on this chain creates SOL, so there is none to name.
    return '1'.repeat(64)
  },
})

const inContext = (node: SolanaNode, value: unknown, commitment: Commitment = 'processed') => ({
  context: { apiVersion: '2.0.0', slot: node.slots.slotAt(commitment) },
  value,
})

function commitmentIn({ commitment = 'finalized' }: Config): Commitment {
  if (commitment === 'processed' || commitment === 'confirmed' || commitment === 'finalized') return commitment
  throw invalid('commitment')
}

const invalid = (what: string) => new NodeError(nodeCodes.invalidParams, `Invalid param: ${what}`)

function textIn(value: unknown): string {
  if (typeof value !== 'string') throw invalid('expected a string')
  return value
}

function addressIn(value: unknown): Address {
  const text = textIn(value)
  if (!isAddress(text)) throw invalid('WrongSize')
  return text
}

function listIn(value: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > most) throw invalid(`expected a list of at most ${most}`)
  return value
}

function wholeNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw invalid('expected a whole number')
  return value
}

/** Micro-USD as decimal text. */
function amountIn(value: unknown): bigint {
  const text = textIn(value)
  if (!/^\d{1,16}$/.test(text) || BigInt(text) > mostMinted) throw invalid(`expected an amount up to ${mostMinted}`)
  return BigInt(text)
}

function bytesIn(value: unknown, { encoding }: Config): Uint8Array {
  if (encoding !== 'base64') throw invalid('this node supports only the encoding base64')
  return Buffer.from(textIn(value), 'base64')
}

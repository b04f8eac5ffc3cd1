/** Solana payments that a facilitator over HTTP settles: the stock one, which pays the fees with a key of its own. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme } from '@x402/svm/exact/facilitator'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import { openRemoteSvmFacilitator } from '#payments/solana/open-svm.ts'
import { SvmPaymentChain } from '#payments/solana/svm-payment-chain.ts'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import { openService, type SolanaPaymentSettings } from '#service/index.ts'
import { canarySecret } from '../canary/canaries.ts'
import { testOption } from '../service/open-service.ts'
import { newSvmAccount, type SvmAccount, type SvmChain } from './svm-chain.ts'
import { expectPaid, force, sendTo, statesOf } from './svm-paying.ts'
import { craft } from './svm-transactions.ts'
import { creditOf, type SvmWorld, signSvm, svmPayer } from './svm-world.ts'
import { svmWorldForEachTest } from './svm-world-for-each-test.ts'

let chain: SvmChain
let world: SvmWorld
let account: SvmAccount
let server: Server
let url: string
/** What becomes of the answer to a settlement. */
let answering: (answer: object) => Promise<object | 'broken'>
/** What the facilitator says of its networks. */
let listing: (supported: object) => object
/** Whether the facilitator settles at all. */
let settling = true
let topUps: TopUps
svmWorldForEachTest(made => {
  chain = made.chain
  world = made.world
  account = made.account
})
beforeEach(async () => {
  answering = async answer => answer
  listing = supported => supported
  settling = true
  server = await serveStock(world.feePayer)
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const remote = openRemoteSvmFacilitator({ url, network: solanaNetwork, rpcUrl: world.gate.url })
  const paymentChain = new SvmPaymentChain({ rpcUrl: world.gate.url, commitment: 'confirmed', feePayer: null })
  const [facilitator, chains] = [new RailFacilitators({ svm: remote }), new RailChains({ svm: paymentChain })]
  topUps = world.compose({ facilitator, chain: chains })
})
afterEach(async () => {
  await topUps.close()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

/** The stock facilitator behind the three questions of its protocol. */
async function serveStock(feePayer: SvmAccount): Promise<Server> {
  const signer = toFacilitatorSvmSigner(feePayer.signer, { defaultRpcUrl: chain.url })
  const stock = new x402Facilitator().register(solanaNetwork, new ExactSvmScheme(signer))
  const serving = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const question = request.url?.split('/').at(-1)
    if (question === 'supported') return void response.end(JSON.stringify(listing(stock.getSupported())))
    const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString())
    if (question === 'verify') {
      return void response.end(JSON.stringify(await stock.verify(paymentPayload, paymentRequirements)))
    }
    if (!settling) return void response.destroy()
    const answer = await answering(await stock.settle(paymentPayload, paymentRequirements))
    if (answer === 'broken') response.destroy()
    else response.end(JSON.stringify(answer))
  })
  await new Promise<void>(resolve => serving.listen(0, '127.0.0.1', resolve))
  return serving
}

test('what the facilitator settles is credited as the chain shows it', async () => {
  const { body } = await sendTo(topUps, await signSvm(world, account))
  expect(JSON.parse(body).data).toMatchObject({ walletAddress: account.address, amountCredited: 5 })
  await expectPaid(world, account, 1)
})

test('19: where its answer is lost the transaction is found among those of the payer', async () => {
  answering = async () => 'broken'
  const { settlement } = await sendTo(topUps, await signSvm(world, account))
  const [transfer] = await chain.transfersTo(world.payee.address)
  expect(settlement.transaction).toBe(transfer?.signature)
  await expectPaid(world, account, 1)
})

test('X4: the transaction of another payment is not taken for this one', async () => {
  const other = await craft(world, await svmPayer(world))
  answering = async () => ({ success: true, transaction: force(world, other), network: solanaNetwork, payer: '' })
  const { settlement } = await sendTo(topUps, await signSvm(world, account))
  const signatures = (await chain.transfersTo(world.payee.address)).map(({ signature }) => signature)
  // The stock one had settled ours before it named the other.
  expect(signatures.indexOf(settlement.transaction)).toBe(1)
  expect(await creditOf(world, account.address)).toBe(5_000_000n)
})

/** The stock facilitator has one word for all of these. */
const refusals: [rule: string, reason: string, spoilt: () => Promise<object>][] = [
  ['who cannot pay', 'insufficient_funds', async () => craft(world, await svmPayer(world, 1n))],
  ['who has no account of the token', 'insufficient_funds', async () => craft(world, await newSvmAccount())],
  [
    'who took too long',
    'simulation_failed',
    async () => {
      const payment = await craft(world, account)
      chain.node.slots.advance(151)
      return payment
    },
  ],
]
test.each(refusals)('a payer %s is told: %s, and nothing is stored', async (_rule, reason, spoilt) => {
  const answer = sendTo(topUps, await spoilt())
  await expect(answer).rejects.toMatchObject({ status: 400, body: { details: { reason } } })
  expect(await statesOf(world)).toEqual([])
})

test('3: a payment that has landed already is credited, though the facilitator refuses it', async () => {
  const payment = await signSvm(world, account)
  force(world, payment)
  await sendTo(topUps, payment)
  await expectPaid(world, account, 1)
})

/** The payer's token account is named by so many more transactions. */
async function busy(transactions: number): Promise<void> {
  for (let made = 0; made < transactions; made++) await chain.mint(account.address, 1n)
}

/** Nodes that list few at once, and what they were asked meanwhile. */
function listingAtMost(transactions: number): { pages: number; read: number } {
  const asked = { pages: 0, read: 0 }
  world.gate.spoil = (method, _params, result) => {
    if (method === 'getTransaction') asked.read++
    if (method !== 'getSignaturesForAddress') return undefined
    asked.pages++
    return (result as unknown[]).slice(0, transactions)
  }
  return asked
}

const hidden: SvmWorld['gate']['spoil'] = method => (method === 'getSignaturesForAddress' ? [] : undefined)

/** A payment whose transaction, if there is one, was not to be seen when its answer was lost. */
async function unknownPayment(facilitates: boolean): Promise<void> {
  answering = async () => 'broken'
  settling = facilitates
  world.gate.spoil = hidden
  await expect(sendTo(topUps, await signSvm(world, account))).rejects.toMatchObject({ status: 500 })
  expect(await statesOf(world)).toEqual(['unknown'])
}

test('19: a payment is found behind any number of newer transactions of its payer, page by page', async () => {
  await unknownPayment(true)
  await busy(130)
  const asked = listingAtMost(50)
  await topUps.completer.complete()
  expect(await statesOf(world)).toEqual(['credited'])
  await expectPaid(world, account, 1)
  expect(asked.pages).toBeGreaterThan(2)
})

test('one that never landed is over, however much its payer did since, and what is older is not read', async () => {
  await busy(120)
  chain.node.slots.advance(30_000)
  await unknownPayment(false)
  await busy(110)
  chain.node.slots.advance(1_000)
  const asked = listingAtMost(50)
  await topUps.completer.complete()
  expect(await statesOf(world)).toEqual(['expired'])
  expect(asked).toEqual({ pages: 3, read: 110 })
  await expectPaid(world, account, 0)
})

test('19: an interrupted search continues where it stopped, and until then the payment’s outcome is unknown', async () => {
  const few = new SvmPaymentChain({
    rpcUrl: world.gate.url,
    commitment: 'confirmed',
    feePayer: null,
    searchedTransactions: 40,
  })
  await unknownPayment(false)
  await busy(99)
  chain.node.slots.advance(1_000)
  const row = await world.opened.store.read.selectFrom('payment').select('payload').executeTakeFirstOrThrow()
  const stored = JSON.parse(row.payload ?? '')
  const asked = listingAtMost(1_000)
  await expect(few.find(stored, null)).rejects.toBeInstanceOf(ChainUnavailable)
  expect(asked.read).toBe(40)
  await expect(few.find(stored, null)).rejects.toBeInstanceOf(ChainUnavailable)
  expect(await few.find(stored, null)).toEqual({ state: 'over' })
  expect(asked.read).toBe(100)
})

test('X6: a payment does not expire while a node lists a transaction that it cannot show yet', async () => {
  await unknownPayment(true)
  chain.node.slots.advance(1_000)
  world.gate.spoil = method => (method === 'getTransaction' ? null : undefined)
  await topUps.completer.complete()
  expect(await statesOf(world)).toEqual(['unknown'])
  world.gate.spoil = null
  await topUps.completer.complete()
  expect(await statesOf(world)).toEqual(['credited'])
})

test('the operator is warned if the facilitator pays fees from another account', async () => {
  const remote = openRemoteSvmFacilitator({ url, network: solanaNetwork, rpcUrl: world.gate.url })
  expect(await remote.problem(world.option)).toBeNull()
  const other = { ...world.option, extra: { feePayer: account.address } }
  expect(await remote.problem(other)).toMatch(/pays fees from .* and not from .*set feePayer to its account\.$/)
  // The stock facilitator names one of its accounts at random, and lists them all.
  listing = supported => ({ ...supported, signers: { 'solana:*': [world.feePayer.address, account.address] } })
  expect(await remote.problem(other)).toBeNull()
  listing = supported => supported
  const unopened = { ...world.option, payTo: usdcOnSolana }
  expect(await remote.problem(unopened)).toMatch(/has no account for .*open \w+ by sending/)
  await remote.close()
})

test('over HTTP: its fee payer is in the 402, and a key in addition is refused', async () => {
  const open = (settings: Partial<SolanaPaymentSettings>) =>
    openService({
      publicUrl: 'https://api.example.com',
      folder: world.opened.folder,
      database: `${world.opened.folder}/other.db`,
      secrets: [canarySecret],
      models: [],
      payments: {
        options: [testOption],
        rpcUrl: chain.url,
        confirmations: 0,
        facilitatorKey: `0x${'11'.repeat(32)}`,
        solana: { payTo: world.payee.address, rpcUrl: chain.url, commitment: 'finalized', ...settings },
      },
    })
  const facilitator = { url, feePayer: world.feePayer.address }
  const service = await open({ facilitator })
  const response = await service.fetch(new Request('https://api.example.com/api/v1/x402/top-up', { method: 'POST' }))
  expect(await response.json()).toMatchObject({ accepts: [{ network: 'eip155:8453' }, world.option] })
  await service.close()
  const both = { facilitator, feePayerKey: world.feePayer.secretKey }
  await expect(open(both)).rejects.toThrow(/set either feePayerKey or facilitator\.$/)
  await expect(open({})).rejects.toThrow(/set either feePayerKey or facilitator\.$/)
})

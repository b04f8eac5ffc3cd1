/** The local Solana chain as its clients meet it: it must answer as a real node does, errors included. */
import { request } from 'node:http'
import {
  address,
  appendTransactionMessageInstructions,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { fetchMint, fetchToken, getTransferCheckedInstruction } from '@solana-program/token'
import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentRequirements } from '@x402/core/types'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme as Client } from '@x402/svm/exact/client'
import { ExactSvmScheme as StockFacilitator } from '@x402/svm/exact/facilitator'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import { type SvmChain, startSvmChain } from '../payments/svm-chain.ts'

const mint = address(usdcOnSolana)

let chain: SvmChain
let rpc: ReturnType<typeof createSolanaRpc>
let [payer, payee]: KeyPairSigner[] = []
beforeAll(async () => {
  chain = await startSvmChain()
  rpc = createSolanaRpc(chain.url)
})
afterAll(() => chain.stop())
beforeEach(async () => {
  payer = await generateKeyPairSigner()
  payee = await generateKeyPairSigner()
  chain.node.airdrop(payer.address, 1_000_000_000n)
  await chain.mint(payer.address, 10_000_000n)
  await chain.mint(payee.address, 0n)
})
afterEach(() => {
  chain.node.slots.finality = { confirmed: 0, finalized: 0 }
})

const someone = (signer: KeyPairSigner | undefined): KeyPairSigner => {
  if (!signer) throw new Error('no key was made')
  return signer
}

async function transferOf(amount: bigint) {
  const [from, to] = [someone(payer), someone(payee)]
  const { value: lifetime } = await rpc.getLatestBlockhash().send()
  const [source, destination] = [await usdcAccountOf(from.address), await usdcAccountOf(to.address)]
  const transfer = getTransferCheckedInstruction({ source, mint, destination, authority: from, amount, decimals: 6 })
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    it => setTransactionMessageFeePayerSigner(from, it),
    it => setTransactionMessageLifetimeUsingBlockhash(lifetime, it),
    it => appendTransactionMessageInstructions([transfer], it),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return { wire: getBase64EncodedWireTransaction(signed), signature: getSignatureFromTransaction(signed), lifetime }
}

const send = (wire: Awaited<ReturnType<typeof transferOf>>['wire'], skipPreflight = false) =>
  rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight }).send()

const statusOf = async (signature: Awaited<ReturnType<typeof transferOf>>['signature']) =>
  (await rpc.getSignatureStatuses([signature]).send()).value[0]

test('the mint is where USDC has it on the public network, and balances are read as clients read them', async () => {
  expect((await fetchMint(rpc, mint)).data).toMatchObject({ decimals: 6, isInitialized: true })
  const token = await usdcAccountOf(someone(payer).address)
  expect((await fetchToken(rpc, token)).data).toMatchObject({
    mint,
    owner: someone(payer).address,
    amount: 10_000_000n,
  })
  expect((await rpc.getTokenAccountBalance(token).send()).value).toMatchObject({
    amount: '10000000',
    decimals: 6,
    uiAmount: 10,
  })
  expect((await rpc.getBalance(someone(payer).address).send()).value).toBe(1_000_000_000n)
  const config = { encoding: 'jsonParsed' } as const
  const { value } = await rpc.getTokenAccountsByOwner(someone(payer).address, { mint }, config).send()
  expect(value.map(each => each.account.data.parsed.info.tokenAmount.uiAmountString)).toEqual(['10'])
})

test('a transaction is executed once: a repeat gives its signature without a preflight, and is refused with one', async () => {
  const { wire, signature } = await transferOf(1_000_000n)
  expect(await send(wire)).toBe(signature)
  expect(await send(wire, true)).toBe(signature)
  await expect(send(wire)).rejects.toMatchObject({
    cause: expect.objectContaining({ message: expect.stringMatching(/already been processed/i) }),
  })
  expect(await chain.usdcOf(someone(payee).address)).toBe(1_000_000n)
  expect(await statusOf(signature)).toMatchObject({ err: null, confirmationStatus: 'finalized' })
})

test('what it did is told with the balances before and after it', async () => {
  const { wire, signature } = await transferOf(1_500_000n)
  await send(wire)
  const config = { encoding: 'base64', maxSupportedTransactionVersion: 0, commitment: 'confirmed' } as const
  const found = await rpc.getTransaction(signature, config).send()
  expect(found?.transaction[0]).toBe(wire)
  expect(found?.meta).toMatchObject({ err: null, fee: 5_000n })
  const amounts = (balances: typeof found extends null ? never : NonNullable<typeof found>['meta']) =>
    [balances?.preTokenBalances, balances?.postTokenBalances].map(each =>
      (each ?? []).map(({ owner, uiTokenAmount }) => [owner, uiTokenAmount.amount]).sort(),
    )
  const [from, to] = [someone(payer).address, someone(payee).address]
  expect(amounts(found?.meta ?? null)).toEqual([
    [
      [from, '10000000'],
      [to, '0'],
    ].sort(),
    [
      [from, '8500000'],
      [to, '1500000'],
    ].sort(),
  ])
  const listed = await rpc.getSignaturesForAddress(await usdcAccountOf(to), { limit: 1 }).send()
  expect(listed).toMatchObject([{ signature, err: null }])
  const json = await rpc.getTransaction(signature, { ...config, encoding: 'json' }).send()
  expect(json?.transaction.message.accountKeys[0]).toBe(from)
})

test('a transaction that fails is refused in a preflight, and without one is in a block with its error and its fee', async () => {
  const { wire, signature } = await transferOf(10_000_001n)
  await expect(send(wire)).rejects.toThrow(/simulation failed/i)
  expect(await statusOf(signature)).toBeNull()
  const before = chain.lamportsOf(someone(payer).address)
  expect(await send(wire, true)).toBe(signature)
  expect(await statusOf(signature)).toMatchObject({ err: { InstructionError: [0n, { Custom: 1n }] } })
  expect(before - chain.lamportsOf(someone(payer).address)).toBe(5_000n)
})

test('a blockhash lives for 150 blocks, and a transaction with an older one is in no block', async () => {
  const { wire, signature, lifetime } = await transferOf(1n)
  const height = await rpc.getBlockHeight({ commitment: 'processed' }).send()
  expect(Number(lifetime.lastValidBlockHeight - height)).toBeGreaterThan(140)
  chain.node.slots.advance(100)
  expect((await rpc.isBlockhashValid(lifetime.blockhash).send()).value).toBe(true)
  chain.node.slots.advance(51)
  expect((await rpc.isBlockhashValid(lifetime.blockhash).send()).value).toBe(false)
  await expect(send(wire)).rejects.toThrow(/simulation failed/i)
  expect(await send(wire, true)).toBe(signature)
  expect(await statusOf(signature)).toBeNull()
})

test('blocks come by the clock, slots are no heights, and both rise', async () => {
  const before = await rpc.getEpochInfo({ commitment: 'processed' }).send()
  expect(before.absoluteSlot).not.toBe(before.blockHeight)
  await expect
    .poll(async () => rpc.getBlockHeight({ commitment: 'processed' }).send())
    .toBeGreaterThan(before.blockHeight)
})

test('a chain that is told to take its time confirms first and finalizes later', async () => {
  chain.node.slots.finality = { confirmed: 20, finalized: 60 }
  const { wire, signature } = await transferOf(1n)
  await send(wire)
  expect(await statusOf(signature)).toMatchObject({ confirmationStatus: 'processed' })
  const config = { encoding: 'base64', maxSupportedTransactionVersion: 0, commitment: 'confirmed' } as const
  expect(await rpc.getTransaction(signature, config).send()).toBeNull()
  chain.node.slots.advance(20)
  expect(await statusOf(signature)).toMatchObject({ confirmationStatus: 'confirmed' })
  expect(await rpc.getTransaction(signature, config).send()).not.toBeNull()
  chain.node.slots.advance(40)
  expect(await statusOf(signature)).toMatchObject({ confirmationStatus: 'finalized', confirmations: null })
})

test('a wrong signature is refused, and a fee payer without SOL cannot pay', async () => {
  const { wire } = await transferOf(1n)
  const forged = Buffer.from(wire, 'base64')
  forged[5] = (forged[5] ?? 0) ^ 1
  const encoded = forged.toString('base64') as typeof wire
  await expect(send(encoded, true)).rejects.toThrow(/signature/i)
  const poor = await transferOf(1n)
  chain.node.setAccount(someone(payer).address, {
    ...{ lamports: 0n, data: new Uint8Array(), executable: false },
    programAddress: address('11111111111111111111111111111111'),
  })
  const simulated = await rpc.simulateTransaction(poor.wire, { encoding: 'base64' }).send()
  expect(simulated.value.err).toMatch(/AccountNotFound|InsufficientFundsForFee/)
})

test('SOL comes from the airdrop that test networks have', async () => {
  const { address: at } = await generateKeyPairSigner()
  await createSolanaRpc(chain.url as Parameters<typeof createSolanaRpc>[0])
    .getBalance(at)
    .send()
  await ask('requestAirdrop', [at, 5_000])
  expect((await rpc.getBalance(at).send()).value).toBe(lamports(5_000n))
})

const ask = async (method: string, params: unknown) =>
  (await post({}, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))).body

function post(headers: Record<string, string>, text: string): Promise<{ status?: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      chain.url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      async response => {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk)
        const said = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode, body: said ? JSON.parse(said) : null })
      },
    )
    outgoing.on('error', reject).end(text)
  })
}

test.each([
  ['a method that it does not have', 'constructor', [], -32601],
  ['an invalid address', 'getBalance', ['0xdead'], -32602],
  ['no parameters', 'getBalance', [], -32602],
  ['an invalid transaction', 'sendTransaction', ['AAAA', { encoding: 'base64' }], -32602],
  ['a transaction in an encoding that it does not read', 'sendTransaction', ['AAAA'], -32602],
  ['more signatures than are answered', 'getSignatureStatuses', [Array.from({ length: 257 }, () => 'x')], -32602],
  ['an invalid commitment', 'getSlot', [{ commitment: 'rooted' }], -32602],
  ['more dollars than are made', 'farebox_mintUsdc', [usdcOnSolana, '1000000000000001'], -32602],
])('%s is refused with the code that clients know', async (_what, method, params, code) => {
  expect(await ask(method, params)).toMatchObject({ jsonrpc: '2.0', id: 7, error: { code } })
})

test.each([
  ['a text that is not JSON', {}, 'hello', 200],
  ['a type that a page may send without leave', { 'content-type': 'text/plain' }, '{}', 403],
  ['the name of another host, as after DNS rebinding', { host: 'evil.example' }, '{}', 403],
  ['more than it reads', {}, 'x'.repeat(100_001), 413],
])('%s is refused', async (_what, headers, text, status) => {
  const answer = await post(headers, text)
  expect(answer.status).toBe(status)
  if (status === 200) expect(answer.body).toMatchObject({ error: { code: -32600 } })
})

test('the stock client and the stock facilitator settle a payment on it', async () => {
  const feePayer = await generateKeyPairSigner()
  chain.node.airdrop(feePayer.address, 1_000_000_000n)
  const signer = toFacilitatorSvmSigner(feePayer, { defaultRpcUrl: chain.url })
  const facilitator = new x402Facilitator().register(solanaNetwork, new StockFacilitator(signer))
  const accepted: PaymentRequirements = {
    ...{ scheme: 'exact', network: solanaNetwork, asset: usdcOnSolana, amount: '5000000', maxTimeoutSeconds: 300 },
    ...{ payTo: someone(payee).address, extra: { feePayer: feePayer.address } },
  }
  const made = await new Client(someone(payer), { rpcUrl: chain.url }).createPaymentPayload(2, accepted)
  const payment = { ...made, accepted } as Parameters<typeof facilitator.verify>[0]
  expect(await facilitator.verify(payment, accepted)).toMatchObject({ isValid: true, payer: someone(payer).address })
  expect(await facilitator.settle(payment, accepted)).toMatchObject({ success: true, payer: someone(payer).address })
  expect(await chain.usdcOf(someone(payee).address)).toBe(5_000_000n)
})

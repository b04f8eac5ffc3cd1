import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { SolanaPayload } from '#contract/wire/payment.ts'
import { readSignInHeader } from '#contract/wire/sign-in.ts'
import { ed25519Key, ed25519Signature, isSignedByKey } from '#host/signatures/signatures.ts'
import { isSignedBy, tokenAccountOf } from '#payments/solana/solana-key.ts'
import { checkCost, readMessage, readTransaction, readTransfer } from '#payments/solana/solana-message.ts'
import { signSvmPayment } from '#wallet/chains/solana.ts'
import { blockhash, fakeNode, feePayer, payee, solanaKey, solanaOption } from './sample-solana.ts'
import { credited, order, origin, sampleWallet } from './sample-wallet.ts'

let node: Awaited<ReturnType<typeof fakeNode>>
beforeAll(async () => {
  node = await fakeNode()
})
afterAll(() => node.close())

const known = { network: solanaNetwork, asset: usdcOnSolana, payTo: payee }

/** What was signed, read by the service's own strict readers: anything that it does not know is an error. */
function read(header: string) {
  const payment = paymentSignature.parse(header) ?? expect.fail()
  const { transaction } = SolanaPayload.parse(payment.payload)
  const { message, signatures } = readTransaction(Buffer.from(transaction, 'base64')) ?? expect.fail()
  const whole = readMessage(message) ?? expect.fail()
  return { accepted: payment.accepted, message, signatures, whole, transfer: readTransfer(whole) }
}

test('the transaction is one transfer to the payee’s own account, and nothing of the offer is in it', async () => {
  const { wallet, dispose } = await sampleWallet({ payees: [known] }, { key: solanaKey, nodes: { solana: node.url } })
  const headers: string[] = []
  const extra = { feePayer, memo: 'drain', instructions: ['x'], decimals: 9, computeUnits: 1_400_000 }
  await wallet.pay(order({ accepts: [solanaOption({ amount: '1000000', extra })] }), async header => {
    headers.push(header)
    return credited(wallet.address, 5_000_000n)
  })
  const { accepted, message, signatures, whole, transfer } = read(headers[0] ?? '')
  expect(accepted).toEqual({ ...solanaOption({ extra }), amount: '5000000' })
  expect(transfer).toEqual({
    feePayer,
    payer: solanaKey.address,
    source: tokenAccountOf(solanaKey.address, usdcOnSolana),
    mint: usdcOnSolana,
    destination: tokenAccountOf(payee, usdcOnSolana),
    amount: 5_000_000n,
    decimals: 6,
    computeUnits: 20_000,
    microLamportsPerUnit: 1n,
  })
  expect(() => checkCost(transfer)).not.toThrow()
  expect([whole.blockhash, whole.lookupTables, whole.signers, whole.instructions.length]).toEqual([blockhash, 0, 2, 4])
  expect(Buffer.from(whole.instructions[3]?.data ?? []).toString()).toMatch(/^[0-9a-f]{32}$/)
  const [first, second] = signatures
  expect(first).toEqual(Buffer.alloc(64))
  expect(isSignedBy(solanaKey.address, message, second ?? expect.fail())).toBe(true)
  const [receipt] = await wallet.receipts(1)
  const nonce = createHash('sha256').update(message).digest('hex')
  expect(receipt).toMatchObject({ state: 'confirmed', network: solanaNetwork, payTo: payee, nonce })
  await dispose()
})

test('whatever the offer and the amount, only that transfer is signed', async () => {
  const chosen = (extra: Record<string, unknown>) => ({
    option: solanaOption({ extra: { ...extra, feePayer } }),
    payee: { origin, ...known },
    ...{ isKnownPayee: true, tokenName: '', tokenVersion: '' },
  })
  const lifetime = { blockhash, lastValidBlockHeight: 150n }
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), fc.bigInt(1n, 10n ** 12n), async (extra, amount) => {
      const signed = await signSvmPayment(solanaKey, chosen(extra), microUsd(amount), lifetime, 0)
      const { transfer, whole } = read(signed.payload)
      expect(transfer).toMatchObject({ feePayer, payer: solanaKey.address, amount, mint: usdcOnSolana, decimals: 6 })
      expect(transfer.destination).toBe(tokenAccountOf(payee, usdcOnSolana))
      expect(whole.instructions).toHaveLength(4)
      expect(signed.validBeforeMs).toBe(150_000)
    }),
    { numRuns: 40 },
  )
})

test('two equal payments are two', async () => {
  const terms = {
    option: solanaOption(),
    payee: { origin, ...known },
    isKnownPayee: true,
    tokenName: '',
    tokenVersion: '',
  }
  const lifetime = { blockhash, lastValidBlockHeight: 150n }
  const [one, other] = await Promise.all(
    [1, 2].map(() => signSvmPayment(solanaKey, terms, microUsd(5_000_000n), lifetime, 0)),
  )
  expect(one?.nonce).not.toBe(other?.nonce)
})

test.each<[what: string, answer: () => unknown]>([
  ['nothing', () => null],
  ['no blockhash', () => ({ value: { blockhash: 'x'.repeat(500), lastValidBlockHeight: 1 } })],
  ...[31, 33].map((bytes): [string, () => unknown] => [
    `a blockhash of ${bytes} bytes`,
    () => ({ value: { blockhash: encodeBase58(Buffer.alloc(bytes, 1)), lastValidBlockHeight: 1 } }),
  ]),
  ['an answer without an end', () => ({ value: 'x'.repeat(100_000) })],
])('a node that answers %s leaves nothing signed, and its address is not told', async (_, answer) => {
  const liar = await fakeNode({ getLatestBlockhash: answer })
  const { wallet, dispose } = await sampleWallet({ payees: [known] }, { key: solanaKey, nodes: { solana: liar.url } })
  const sent: string[] = []
  const error = await wallet
    .pay(order({ accepts: [solanaOption()] }), async header => {
      sent.push(header)
      return credited(wallet.address, 5_000_000n)
    })
    .catch(reason => reason)
  expect(error).toMatchObject({ rule: 'node' })
  expect(error.message).not.toContain('secret-of-the-node')
  expect([sent, await wallet.receipts(9)]).toEqual([[], []])
  await dispose()
  await liar.close()
})

test('without a node nothing is signed, and the sentence names the setting', async () => {
  const { wallet, dispose } = await sampleWallet({ payees: [known] }, { key: solanaKey })
  const send = () => Promise.reject(new Error('is not sent'))
  await expect(wallet.pay(order({ accepts: [solanaOption()] }), send)).rejects.toThrow(/FAREBOX_SOLANA_RPC_URL/)
  expect(await wallet.receipts(9)).toEqual([])
  await dispose()
})

test('a sign-in with Solana is the wallet’s own text, signed by its key', async () => {
  const { wallet, dispose } = await sampleWallet({}, { key: solanaKey })
  const signedIn = readSignInHeader(await wallet.signIn(`${origin}/api/v1/models`))
  const claim = signedIn.ok ? signedIn.claim : expect.fail(signedIn.code)
  expect(claim.chainId).toBe(solanaNetwork)
  expect(claim.address).toBe(solanaKey.address)
  const [key, signature] = [ed25519Key(claim.address), ed25519Signature(claim.signature)]
  expect(await isSignedByKey(key ?? expect.fail(), claim.message, signature ?? expect.fail())).toBe(true)
  await dispose()
})

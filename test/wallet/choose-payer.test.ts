import { writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { evmNetwork, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import { keyFromHex } from '#wallet/keys/keys.ts'
import { noNode } from '#wallet/limits.ts'
import type { Send } from '#wallet/payment/send-payment.ts'
import { fakeNode, payee, solanaKey, solanaOption, tokenAccount } from './sample-solana.ts'
import { credited, option, order, payTo, sampleWallet, secret } from './sample-wallet.ts'

const evmPayee = { network: evmNetwork, asset: usdcOnEvm, payTo }
const svmPayee = { network: solanaNetwork, asset: usdcOnSolana, payTo: payee }

/** What the addresses hold; `unknown` where no node is named. */
type Funds = bigint | 'unknown'

interface Case {
  base: Funds
  solana: Funds
  payees?: (typeof evmPayee)[]
  accepts?: ReturnType<typeof option>[]
}

async function walletOf({ base, solana, payees = [evmPayee, svmPayee] }: Case) {
  const word = (amount: bigint) => `0x${amount.toString(16).padStart(64, '0')}`
  const evm = base === 'unknown' ? null : await fakeNode({ eth_call: () => word(base) })
  // Without an amount the node knows blocks, and answers nothing about accounts.
  const svm = await fakeNode(solana === 'unknown' ? {} : { getAccountInfo: tokenAccount(solana) })
  const nodes = { eip155: evm?.url ?? noNode, solana: svm.url }
  const key = await keyFromHex(secret)
  const sample = await sampleWallet({ payees, cooldownMs: 0 }, { key, otherKeys: [solanaKey], nodes })
  onTestFinished(sample.dispose)
  onTestFinished(() => evm?.close())
  onTestFinished(svm.close)
  const asked = () => [...(evm?.asked ?? []), ...svm.asked]
  return { ...sample, asked, evmAddress: key.address }
}

const addresses = { base: '', solana: solanaKey.address }
const toPayer =
  (evmAddress: string): Send =>
  async header => {
    const { accepted } = JSON.parse(atob(header))
    return credited(accepted.network === evmNetwork ? evmAddress : solanaKey.address, 5_000_000n)
  }

const both = [option(), solanaOption()]
const five = 5_000_000n

const rows: [rule: string, given: Case, pays: 'base' | 'solana'][] = [
  ['both have it: Base', { base: five, solana: five }, 'base'],
  ['if unknown: Base', { base: 'unknown', solana: 'unknown' }, 'base'],
  ['only Base has it', { base: five, solana: five - 1n }, 'base'],
  ['only Solana has it', { base: five - 1n, solana: five }, 'solana'],
  ['Solana has it, Base is unknown', { base: 'unknown', solana: five }, 'solana'],
  ['Base is empty, Solana is unknown', { base: 0n, solana: 'unknown' }, 'solana'],
  ['Solana is empty, Base is unknown', { base: 'unknown', solana: 0n }, 'base'],
  ['the known payee before the full purse', { base: five, solana: 0n, payees: [svmPayee] }, 'solana'],
  ['the only offer', { base: five, solana: 0n, accepts: [solanaOption()] }, 'solana'],
]

test.each(rows)('before the first payment, %s', async (_, given, pays) => {
  const { wallet, evmAddress } = await walletOf(given)
  await wallet.pay(order({ accepts: given.accepts ?? both.toReversed() }), toPayer(evmAddress))
  const [receipt] = await wallet.receipts(1)
  expect(receipt).toMatchObject({ state: 'confirmed', address: pays === 'base' ? evmAddress : addresses.solana })
  expect(await wallet.account()).toBe(receipt?.address)
  expect(await wallet.status()).toMatchObject({ address: receipt?.address, isPayerDecided: true })
})

test('a payment refused for lack of funds names the other address, and how to pay from there', async () => {
  const refuse: Send = async () => ({ kind: 'rejected', status: 400, reason: 'insufficient_funds' })
  const { wallet, evmAddress } = await walletOf({ base: 'unknown', solana: 'unknown' })
  const refusal = await wallet.pay(order({ accepts: both }), refuse).catch(error => error)
  expect(refusal).toMatchObject({ rule: 'payment-rejected', sentence: expect.stringContaining(evmAddress) })
  for (const fact of [
    solanaKey.address,
    'FAREBOX_EVM_RPC_URL',
    'FAREBOX_SOLANA_RPC_URL',
    `"networks": ["${solanaNetwork}"]`,
    'policy.json',
  ])
    expect(refusal.nextStep).toContain(fact)
  // The way out holds: with that setting the other address pays.
  const alone = await walletOf({ base: 'unknown', solana: 'unknown' })
  writeFileSync(`${alone.folder}/policy.json`, JSON.stringify({ networks: [solanaNetwork] }), { mode: 0o600 })
  const restricted = await alone.open()
  const again = await restricted.pay(order({ accepts: both }), refuse).catch(error => error)
  expect(again.sentence).toContain(solanaKey.address)
  expect(again.nextStep).not.toContain('policy.json')
})

test('the account that has paid stays, whatever the addresses hold later, and no other one is looked at', async () => {
  const { wallet, evmAddress, asked, clock, open } = await walletOf({ base: 0n, solana: five })
  expect(await wallet.status()).toMatchObject({ address: evmAddress, isPayerDecided: false })
  await wallet.pay(order({ accepts: both }), toPayer(evmAddress))
  const before = asked().length
  clock.advance(60_000)
  const again = await open()
  await again.pay(order({ accepts: both }), toPayer(evmAddress))
  expect((await again.receipts(9)).map(({ address }) => address)).toEqual([solanaKey.address, solanaKey.address])
  expect(new Set(asked().slice(before))).toEqual(
    new Set(['getGenesisHash', 'getEpochInfo', 'getAccountInfo', 'getLatestBlockhash']),
  )
  await again.close()
})

test('credit that was found settles it before the first payment', async () => {
  const { wallet, evmAddress } = await walletOf({ base: five, solana: five })
  wallet.useAccount(solanaKey.address)
  expect(await wallet.account()).toBe(solanaKey.address)
  await wallet.pay(order({ accepts: both }), toPayer(evmAddress))
  expect((await wallet.receipts(1))[0]?.address).toBe(solanaKey.address)
})

test('an open payment of one key is sent again before the other key signs anything', async () => {
  const { wallet, evmAddress, clock } = await walletOf({ base: five, solana: five })
  const sent: string[] = []
  const lost: Send = async header => {
    sent.push(header)
    return { kind: 'unknown', reason: 'connection reset' }
  }
  await expect(wallet.pay(order({ accepts: both }), lost)).rejects.toMatchObject({ rule: 'outcome-unknown' })
  clock.advance(1_000)
  // The service has stopped to offer the rail of the open payment.
  await expect(wallet.pay(order({ accepts: [solanaOption()] }), lost)).rejects.toMatchObject({ rule: 'payment-open' })
  expect(new Set(sent).size).toBe(1)
  expect(await wallet.recover(toPayer(evmAddress))).toMatchObject([{ state: 'confirmed', address: evmAddress }])
})

test('the settings file can take a rail away', async () => {
  const { wallet, folder, evmAddress, open } = await walletOf({ base: five, solana: five })
  expect(await wallet.account()).toBe(evmAddress)
  writeFileSync(`${folder}/policy.json`, JSON.stringify({ networks: [solanaNetwork] }))
  const narrowed = await open()
  expect(await narrowed.account()).toBe(solanaKey.address)
  await narrowed.pay(order({ accepts: both }), toPayer(evmAddress))
  expect((await narrowed.receipts(1))[0]?.address).toBe(solanaKey.address)
  await narrowed.close()
})

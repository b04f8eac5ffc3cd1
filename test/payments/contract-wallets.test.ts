import { readFile } from 'node:fs/promises'
import { toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { evmNetwork } from '#contract/wire/networks.ts'
import { openLocalFacilitator } from '#payments/evm/local-facilitator.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import { compileContract } from '../../scripts/compile-token.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { creditOf, type Loose, openWorld, send, signAs, type World, withFacilitator } from './top-up-world.ts'

const five = 5_000_000n

/** Of the contract: what its wallet does when it is asked. */
const modes = { honest: 0, reverts: 1, burnsAllGas: 2, burnsGasInTransfers: 3, saysNo: 4, saysYesAndMore: 5 }

let chain: TestChain
let world: World
let code: string
let facilitator: Facilitator
let facilitatorAddress: string
let topUps: TopUps

beforeAll(async () => {
  chain = await startTestChain()
  const source = await readFile(new URL('./contract-wallet.sol', import.meta.url), 'utf8')
  code = `0x${(await compileContract('contract-wallet.sol', 'ContractWallet', source)).code}`
})
afterAll(() => chain.stop())
beforeEach(async () => {
  world = await openWorld(chain)
  const key = generatePrivateKey()
  facilitatorAddress = privateKeyToAccount(key).address
  await chain.fund(facilitatorAddress)
  facilitator = await openLocalFacilitator({ network: evmNetwork, rpcUrl: world.gate.url, key, contractWallets: true })
  topUps = world.compose({ facilitator })
})
afterEach(async () => {
  await topUps.close()
  await world.dispose()
})

/** A wallet with money, and the account whose signatures it takes. */
async function openWallet(mode = modes.honest) {
  const owner = newAccount()
  const { address } = newAccount()
  await chain.ask('anvil_setCode', [address, code])
  await chain.ask('anvil_setStorageAt', [
    address,
    toHex(0, { size: 32 }),
    `0x${owner.address.slice(2).padStart(64, '0')}`,
  ])
  await chain.ask('anvil_setStorageAt', [address, toHex(1, { size: 32 }), toHex(mode, { size: 32 })])
  await chain.mint(address, 20_000_000n)
  return { address, owner }
}

type Wallet = Awaited<ReturnType<typeof openWallet>>

/** A payment of the wallet, signed by its owner in as many bytes as such wallets write. */
async function signOf({ address, owner }: Wallet, members: object = {}): Promise<Loose> {
  const payment = await signAs(owner, world.option, { from: address, ...members })
  return lengthen(payment, 'aa')
}

const lengthen = (payment: Loose, filler: string): Loose => {
  const longer = structuredClone(payment)
  longer.payload.signature = `${payment.payload.signature.slice(0, 132)}${filler.repeat(31)}`
  return longer
}

const received = () => chain.transfersTo(world.option.payTo)
const balanceOf = async (address: string) => BigInt(String(await chain.ask('eth_getBalance', [address, 'latest'])))

describe('where contract wallets are taken (EIP-1271)', () => {
  test('the wallet says itself that it signed, and is credited; resends and twins get the same answer', async () => {
    const wallet = await openWallet()
    const payment = await signOf(wallet)
    const answers = await Promise.all([send(topUps, payment), send(topUps, payment)])
    answers.push(await send(topUps, payment))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.body.data.walletAddress).toBe(wallet.address.toLowerCase())
    expect(await received()).toEqual([[wallet.address.toLowerCase(), five]])
    expect(await creditOf(world, wallet.address)).toBe(five)
    expect(await creditOf(world, wallet.owner.address)).toBe(0n)
  })

  test('a signature of 65 bytes may be a wallet’s as well', async () => {
    const wallet = await openWallet()
    const payment = await signAs(wallet.owner, world.option, { from: wallet.address })
    expect((await send(topUps, payment)).status).toBe(200)
    expect(await creditOf(world, wallet.address)).toBe(five)
  })

  test('the payment is known by payer and nonce: another signature of the same wallet makes no second one', async () => {
    const wallet = await openWallet()
    const payment = await signOf(wallet)
    expect((await send(topUps, payment)).status).toBe(200)
    const again = await send(topUps, lengthen(payment, 'bb'))
    expect([again.status, again.body.details.reason]).toEqual([400, 'nonce_used'])
    expect(await received()).toHaveLength(1)
    const row = await world.opened.store.read.selectFrom('payment').select('id').execute()
    expect(row).toEqual([{ id: expect.stringContaining(`${wallet.address}:`.toLowerCase()) }])
  })

  test('one whose process ended is completed by the next', async () => {
    const wallet = await openWallet()
    const lost = withFacilitator(facilitator, { settle: () => Promise.reject(new Error('ended')) })
    expect((await send(world.compose({ facilitator: lost }), await signOf(wallet))).status).toBe(500)
    await topUps.completer.complete()
    expect(await creditOf(world, wallet.address)).toBe(five)
  })

  test('an ordinary account pays as ever', async () => {
    const account = newAccount()
    await chain.mint(account.address, five)
    expect((await send(topUps, await signAs(account, world.option, {}))).status).toBe(200)
  })

  const refused: [string, () => Promise<Loose>, string][] = [
    [
      'the signature of another key',
      async () => signOf({ ...(await openWallet()), owner: newAccount() }),
      'invalid_signature',
    ],
    ['a wallet that reverts', async () => signOf(await openWallet(modes.reverts)), 'invalid_signature'],
    [
      'a wallet that burns what gas it gets',
      async () => signOf(await openWallet(modes.burnsAllGas)),
      'invalid_signature',
    ],
    ['a wallet that says no', async () => signOf(await openWallet(modes.saysNo)), 'invalid_signature'],
    [
      'a wallet whose yes has more in it',
      async () => signOf(await openWallet(modes.saysYesAndMore)),
      'invalid_signature',
    ],
    [
      'an address without a wallet',
      async () => signOf({ address: newAccount().address, owner: newAccount() }),
      'invalid_signature',
    ],
    [
      'a signature that is wrapped for a wallet to be deployed (ERC-6492)',
      async () => {
        const payment = await signOf(await openWallet())
        payment.payload.signature += `${'00'.repeat(96)}${'6492'.repeat(16)}`
        return payment
      },
      'undeployed_wallet',
    ],
    [
      'a wallet that would burn our gas in the transfer',
      async () => signOf(await openWallet(modes.burnsGasInTransfers)),
      'simulation_failed',
    ],
  ]

  test.each(refused)('%s: 400, nothing moved, no gas spent', async (_, payment, reason) => {
    const before = await balanceOf(facilitatorAddress)
    const answer = await send(topUps, await payment())
    expect([answer.status, answer.body.details.reason]).toEqual([400, reason])
    expect(await received()).toEqual([])
    expect(await balanceOf(facilitatorAddress)).toBe(before)
  })

  test('one that turns against us after it was checked costs no gas either', async () => {
    const wallet = await openWallet()
    const payment = await signOf(wallet)
    const verify: Facilitator['verify'] = async signed => {
      const verdict = await facilitator.verify(signed)
      await chain.ask('anvil_setStorageAt', [
        wallet.address,
        toHex(1, { size: 32 }),
        toHex(modes.burnsGasInTransfers, { size: 32 }),
      ])
      return verdict
    }
    const before = await balanceOf(facilitatorAddress)
    const answer = await send(world.compose({ facilitator: withFacilitator(facilitator, { verify }) }), payment)
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'simulation_failed'])
    expect(await balanceOf(facilitatorAddress)).toBe(before)
  })

  test('an unreachable node is not a refusal', async () => {
    const payment = await signOf(await openWallet())
    world.gate.mode = 'down'
    expect((await send(topUps, payment)).body.error).toBe('X402_TOP_UP_FAILED')
    world.gate.mode = 'open'
    expect((await send(topUps, payment)).status).toBe(200)
  })
})

describe('where they are not, which is the rule', () => {
  test('neither a wallet’s signature nor its owner’s is taken, and its code is not called', async () => {
    const wallet = await openWallet()
    const long = await send(world.topUps, await signOf(wallet))
    const short = await send(world.topUps, await signAs(wallet.owner, world.option, { from: wallet.address }))
    for (const answer of [long, short]) {
      expect([answer.status, answer.body.details.reason]).toEqual([400, 'invalid_signature'])
    }
    expect(world.gate.asked).toEqual([])
  })

  test('nor an ordinary account that has the code of a contract run for it (EIP-7702)', async () => {
    const account = newAccount()
    await chain.mint(account.address, five)
    await chain.ask('anvil_setCode', [account.address, code])
    const answer = await send(world.topUps, await signAs(account, world.option, {}))
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'contract_wallet'])
    expect(world.gate.asked).toEqual(['eth_getCode'])
  })
})

/** Money back: USDC from the wallet to its owner, settled by the reference facilitator of x402 on real local chains. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Clock, systemClock } from '#contract/time.ts'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import { keyFromHex, solanaKeyFrom, type WalletKey } from '#wallet/keys/keys.ts'
import { withTopUpLease } from '#wallet/payment/top-up-lease.ts'
import { listTransfers } from '#wallet/records/transfer-rows.ts'
import { stop } from '#wallet/rules/stop-switch.ts'
import { prepareTransfer, printedTransfer, sendTransfer, type TransferContext } from '#wallet/send/send-money.ts'
import { facilitatorAt } from '#wallet/send/settler.ts'
import { followTransfers } from '#wallet/send/transfer-end.ts'
import { openWallet } from '#wallet/wallet.ts'
import { newSvmAccount, type SvmChain, startSvmChain } from '../../payments/svm-chain.ts'
import { newAccount, startTestChain, type TestChain, tokenName } from '../../payments/test-chain.ts'
import { fakeClock, nobody, option, order, policy, secret, temporaryFolder } from '../sample-wallet.ts'
import { owner } from './sending.ts'
import { type FacilitatorServer, stockEvm, stockSvm } from './stock-facilitator.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

interface World {
  nodes: { eip155?: string; solana?: string }
  facilitator: FacilitatorServer
  /** Of a wallet that holds 12 USD. */
  fundedKey(): Promise<WalletKey>
  newRecipient(): Promise<string>
  usdcOf(address: string): Promise<bigint>
}

let evm: TestChain
let svm: SvmChain
const worlds: Record<'Base' | 'Solana', World> = {} as never

async function evmUsdcOf(address: string): Promise<bigint> {
  const data = encodeFunctionData({ abi: usdcAbi, functionName: 'balanceOf', args: [address as Hex] })
  return BigInt(String(await evm.ask('eth_call', [{ to: usdcOnEvm, data }, 'latest'])))
}

beforeAll(async () => {
  ;[evm, svm] = await Promise.all([startTestChain(), startSvmChain()])
  const feePayers = [await newSvmAccount(), await newSvmAccount()]
  for (const { signer } of feePayers) svm.node.airdrop(signer.address, 10_000_000_000n)
  worlds.Base = {
    nodes: { eip155: evm.url },
    facilitator: await stockEvm(evm),
    async fundedKey() {
      const key = await keyFromHex(Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex'))
      await evm.mint(key.address, 12_000_000n)
      return key
    },
    newRecipient: async () => newAccount().address,
    usdcOf: evmUsdcOf,
  }
  worlds.Solana = {
    nodes: { solana: svm.url },
    facilitator: await stockSvm(svm, ...feePayers),
    async fundedKey() {
      const { address, secretKey } = await newSvmAccount()
      await svm.mint(address, 12_000_000n)
      return solanaKeyFrom(secretKey)
    },
    async newRecipient() {
      const { address } = await newSvmAccount()
      await svm.mint(address, 0n)
      return address
    },
    usdcOf: address => svm.usdcOf(address),
  }
})
afterAll(async () => {
  for (const { facilitator } of Object.values(worlds)) await facilitator.close()
  await Promise.all([evm.stop(), svm.stop()])
})
beforeEach(() => {
  for (const { facilitator } of Object.values(worlds)) Object.assign(facilitator, { behaves: 'settle', received: [] })
})

/** A wallet with 12 USD, and its owner. */
async function funded(world: World, changes: Partial<TransferContext> = {}, clock: Clock = systemClock) {
  const folder = temporaryFolder()
  const key = await world.fundedKey()
  const { nodes } = world
  const at = owner({ folder, key, nodes, changes, clock })
  onTestFinished(() => at.close())
  const states = async () => (await at.records.read(() => listTransfers(9))).map(({ state }) => state)
  return { ...at, ...world, folder, key, states, to: await world.newRecipient() }
}

const ruleOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: { rule?: string }) => error.rule ?? error,
  )

describe.each(['Base', 'Solana'] as const)('on %s', name => {
  test('an amount arrives, settled by a stock facilitator, and the wallet paid no fee', async () => {
    const { send, to, usdcOf, facilitator, key, states } = await funded(worlds[name])
    expect(await send(to, '5.25', facilitator.url)).toMatchObject({
      state: 'confirmed',
      transaction: expect.any(String),
    })
    expect([await usdcOf(to), await usdcOf(key.address)]).toEqual([5_250_000n, 6_750_000n])
    expect(await states()).toEqual(['confirmed'])
  })

  test('all is everything that the address holds', async () => {
    const { send, to, usdcOf, facilitator, key } = await funded(worlds[name])
    await send(to, 'all', facilitator.url)
    expect([await usdcOf(to), await usdcOf(key.address)]).toEqual([12_000_000n, 0n])
  })

  test('after a lost answer the repeated command finds it arrived, and the next one sends anew', async () => {
    const { send, to, usdcOf, facilitator } = await funded(worlds[name])
    facilitator.behaves = 'lose after'
    expect(await send(to, '5', facilitator.url)).toMatchObject({ state: 'confirmed' })
    expect(facilitator.received).toHaveLength(1)
    expect(await usdcOf(to)).toBe(5_000_000n)
  })

  test.each(['lose before', 'lie', 'refuse'] as const)(
    'a facilitator that settles nothing (%s): the same signed transfer again, and no other before its end',
    async behaves => {
      const { send, to, usdcOf, facilitator, newRecipient } = await funded(worlds[name])
      facilitator.behaves = behaves
      expect(await send(to, '5', facilitator.url)).toMatchObject({ state: 'unknown', reason: expect.any(String) })
      expect(await usdcOf(to)).toBe(0n)
      expect(await ruleOf(send(to, '4', facilitator.url))).toBe('payment-open')
      expect(await ruleOf(send(await newRecipient(), '5', facilitator.url))).toBe('payment-open')
      facilitator.behaves = 'settle'
      expect(await send(to, '5', facilitator.url)).toMatchObject({ kind: 'repeated', state: 'confirmed' })
      expect(await usdcOf(to)).toBe(5_000_000n)
      const payloads = facilitator.received.map(({ paymentPayload }) => JSON.stringify(paymentPayload.payload))
      expect(new Set(payloads).size).toBe(1)
    },
  )

  test('what has arrived meanwhile is told and not sent again by the same command', async () => {
    const { context, nodes, send, to, usdcOf, facilitator, states } = await funded(worlds[name])
    const settler = facilitatorAt(facilitator.url)
    const settled = await send(to, '5', {
      ...settler,
      async settle(...asked) {
        const answer = await settler.settle(...asked)
        // The node does not answer from now on, so the outcome is unknown.
        context.nodes = nobody
        return answer
      },
    })
    expect(settled).toMatchObject({ state: 'unknown' })
    context.nodes = nodes
    expect(await send(to, '5', facilitator.url)).toMatchObject({ kind: 'arrived' })
    expect(await usdcOf(to)).toBe(5_000_000n)
    expect(await states()).toEqual(['confirmed'])
    expect(await send(to, '5', facilitator.url)).toMatchObject({ kind: 'new', state: 'confirmed' })
    expect(await usdcOf(to)).toBe(10_000_000n)
  })

  test('what another process has sent, while its repeat was confirmed, has arrived and is not sent again', async () => {
    const { context, key, prepare, send, to, usdcOf, facilitator, states } = await funded(worlds[name])
    facilitator.behaves = 'lose before'
    await send(to, '5', facilitator.url)
    const prepared = await prepare(to, '5')
    if (prepared.kind === 'arrived' || prepared.earlierId === null) throw new Error('The transfer is not open.')
    facilitator.behaves = 'settle'
    await send(to, '5', facilitator.url)
    const settler = facilitatorAt(facilitator.url)
    expect(await sendTransfer(context, prepared, { key, settler, by: 'ada' })).toMatchObject({ state: 'confirmed' })
    expect([await states(), await usdcOf(to)]).toEqual([['confirmed'], 5_000_000n])
  })

  test('more than there is, nothing, and words are refused before anything is signed', async () => {
    const { prepare, to, states } = await funded(worlds[name])
    const rules = []
    for (const amount of ['12.000001', '0', '-1', '1e3', '5 USD', '']) rules.push(await ruleOf(prepare(to, amount)))
    expect(rules).toEqual(['funds', 'order', 'order', 'order', 'order', 'order'])
    expect(await states()).toEqual([])
  })

  test('without a node nothing is sent', async () => {
    const { prepare, to } = await funded(worlds[name], { nodes: nobody })
    expect(await ruleOf(prepare(to, '5'))).toBe('node')
  })
})

describe('beside the assistant', () => {
  test('the stop switch and a dry run hold it back, also between confirmation and signature', async () => {
    const { prepare, records, send, to, folder, facilitator, states, context } = await funded(worlds.Base)
    const dry = { ...context, policy: { ...context.policy, dryRun: true } }
    expect(await ruleOf(prepareTransfer(dry, { to, amount: '5' }))).toBe('dry-run')
    writeFileSync(join(folder, 'stop'), '')
    expect(await ruleOf(prepare(to, '5'))).toBe('stopped')
    rmSync(join(folder, 'stop'))
    await prepare(to, '5')
    await records.decide(nowMs => stop('ada', nowMs))
    expect(await ruleOf(send(to, '5', facilitator.url))).toBe('stopped')
    expect(await states()).toEqual([])
  })

  test('a running top-up goes first', async () => {
    const { records, context, send, to, facilitator } = await funded(worlds.Base)
    const ends: string[] = []
    const pause = () => new Promise<void>(resolve => setTimeout(resolve, 5))
    const topUp = withTopUpLease(records, pause, async () => {
      await new Promise(resolve => setTimeout(resolve, 300))
      ends.push('top-up')
    })
    context.pause = pause
    await Promise.all([topUp, send(to, '5', facilitator.url).then(() => ends.push('send'))])
    expect(ends).toEqual(['top-up', 'send'])
  })

  test('what a signed payment may still take is held back', async () => {
    const { key, folder, prepare, to } = await funded(worlds.Base)
    const wallet = openWallet({
      key,
      policy: policy(),
      dataFolder: folder,
      notesFolder: join(folder, 'notes'),
      nodes: worlds.Base.nodes,
      pause: async () => undefined,
    })
    const accepts = [option({ extra: { name: tokenName, version: '2' } })]
    await ruleOf(wallet.pay(order({ accepts }), async () => ({ kind: 'unknown', reason: 'no answer' })))
    expect(await prepare(to, 'all')).toMatchObject({ amountMicroUsd: 7_000_000n, heldMicroUsd: 5_000_000n })
    expect(await ruleOf(prepare(to, '7.01'))).toBe('funds')
    await wallet.close()
  })

  test('it counts against no cap, and a top-up after it is as before', async () => {
    const { key, folder, send, to, facilitator } = await funded(worlds.Base)
    await send(to, '7', facilitator.url)
    const wallet = openWallet({ key, policy: policy(), dataFolder: folder, nodes: worlds.Base.nodes })
    expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: 0n, spentTotalMicroUsd: 0n, openPayments: [] })
    await wallet.close()
  })
})

describe('printed for another wallet', () => {
  test('anyone submits it, and the chain tells of its arrival; until then the same is printed', async () => {
    const { context, send, to, usdcOf, key } = await funded(worlds.Base)
    const first = await send(to, '5', null)
    expect(first).toMatchObject({ state: 'sent', settler: 'printed' })
    const printed = await printedTransfer(context, first)
    const again = await send(to, '5', null)
    expect(await printedTransfer(context, again)).toEqual(printed)
    const { from, to: paidTo, value, validAfter, validBefore, nonce, v, r, s } = printed
    const args = [from, paidTo, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, v, r, s] as never
    const data = encodeFunctionData({ abi: usdcAbi, functionName: 'transferWithAuthorization', args })
    const submitter = newAccount().address
    await evm.fund(submitter)
    await evm.sendAs(submitter, data)
    expect(await usdcOf(to)).toBe(5_000_000n)
    const [followed] = await followTransfers(context, [key.address])
    expect(followed).toMatchObject({ state: 'confirmed' })
  })

  test('on Solana it is refused, because the fee payer is part of what is signed', async () => {
    const { send, to } = await funded(worlds.Solana)
    expect(await ruleOf(send(to, '5', null))).toBe('settings')
  })
})

const child = fileURLToPath(new URL('./sending-child.ts', import.meta.url))

describe('killed', () => {
  const kills: string[][] = [
    ...Array.from({ length: 8 }, (_, n) => ['before', String(n + 1)]),
    ...Array.from({ length: 8 }, (_, n) => ['after', String(n + 1)]),
    ['sending'],
    ['settled'],
  ]

  test.each(kills)('%s %s, the repeated command ends with one transfer', async (...kill) => {
    const { facilitator, nodes } = worlds.Base
    const folder = temporaryFolder()
    mkdirSync(folder, { recursive: true })
    const key = await keyFromHex(secret)
    await evm.mint(key.address, 12_000_000n)
    const to = newAccount().address
    const args = [child, folder, evm.url, facilitator.url, to, '5', ...kill]
    const [, signal] = await once(spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] }), 'close')
    expect(signal).toBe(kill[1] === '8' ? null : 'SIGKILL')
    const at = owner({ folder, key, nodes })
    const arrived = await evmUsdcOf(to)
    // A command that was killed after its end is one that the user sees as done in the status.
    const [last] = await at.records.read(() => listTransfers(1))
    if (last?.state !== 'confirmed') await at.send(to, '5', facilitator.url)
    expect([0n, 5_000_000n]).toContain(arrived)
    expect(await evmUsdcOf(to)).toBe(5_000_000n)
    const rows = await at.records.read(() => listTransfers(9))
    expect(rows.filter(({ nonce }) => nonce !== null)).toHaveLength(1)
    await at.close()
  })
})

test('what was never settled expires, and the amount can be sent anew', async () => {
  const clock = fakeClock(Date.now())
  const { send, to, usdcOf, facilitator, states } = await funded(worlds.Base, {}, clock)
  facilitator.behaves = 'lose before'
  await send(to, '5', facilitator.url)
  const secondsToItsEnd = 300 + 121
  await evm.ask('evm_increaseTime', [secondsToItsEnd])
  await evm.ask('evm_mine')
  clock.advance(secondsToItsEnd * 1_000)
  facilitator.behaves = 'settle'
  expect(await send(to, '5', facilitator.url)).toMatchObject({ kind: 'new', state: 'confirmed' })
  expect(await states()).toEqual(['confirmed', 'dead'])
  expect(await usdcOf(to)).toBe(5_000_000n)
})

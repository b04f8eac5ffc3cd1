import { toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { evmNetwork } from '#contract/wire/networks.ts'
import { type LocalFacilitatorOptions, openLocalFacilitator } from '#payments/evm/local-facilitator.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { rollupFee } from './rpc-gate.ts'
import type { TestChain } from './test-chain.ts'
import { creditOf, openWorld, payer, send, type World, withFacilitator } from './top-up-world.ts'
import { worldForEachTest } from './world-for-each-test.ts'

const five = 5_000_000n
const hourMs = 3_600_000

let chain: TestChain
let world: World
worldForEachTest(made => {
  chain = made.chain
  world = made.world
})

const received = () => chain.transfersTo(world.option.payTo)

async function open(options: Partial<LocalFacilitatorOptions> = {}) {
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await chain.fund(address)
  const facilitator = await openLocalFacilitator({
    network: evmNetwork,
    rpcUrl: world.gate.url,
    key,
    clock: world.clock,
    ...options,
  })
  return { address, facilitator }
}

const balanceOf = async (address: string) => BigInt(String(await chain.ask('eth_getBalance', [address, 'latest'])))

describe('what settling costs is capped an hour', () => {
  /** What one settlement costs here, and at most. */
  const feeOf = async () => {
    const { facilitator, address } = await open()
    const before = await balanceOf(address)
    const { payment } = await payer(world)
    await send(world.compose({ facilitator }), payment)
    return before - (await balanceOf(address))
  }

  const nextBaseFee = (wei: bigint) => chain.ask('anvil_setNextBlockBaseFeePerGas', [toHex(wei)])

  /** Pays until the cap is met; answers the payment that was turned away, and how many were not. */
  async function payUntilRefused(facilitator: Facilitator) {
    const topUps = world.compose({ facilitator })
    for (let settled = 0; settled < 40; settled++) {
      const paying = await payer(world)
      const answer = await send(topUps, paying.payment)
      if (answer.status !== 200) return { ...paying, answer, settled, topUps }
    }
    throw new Error('The cap was never met.')
  }

  test('above the cap a payment is refused before it is sent, may be retried later, and the operator is warned', async () => {
    const { facilitator } = await open({ feesPerHourWei: 4n * (await feeOf()) })
    const before = (await received()).length
    const { answer, settled } = await payUntilRefused(facilitator)
    expect(settled).toBeGreaterThanOrEqual(2)
    const { error, details, message } = answer.body
    expect([answer.status, error, details.retry]).toEqual([500, 'X402_TOP_UP_FAILED', 'same-payload'])
    expect(message).toMatch(/hourly cap on network fees\. Nothing was taken\. .* in 60 seconds/)
    expect(answer.headers.get('retry-after')).toBe('60')
    expect(await received()).toHaveLength(before + settled)
    expect(await facilitator.problem(world.option)).toMatch(/hourly cap of .* ETH/)
  })

  test('when the hour has rolled on, the same payment passes', async () => {
    const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs }
    const { facilitator } = await open({ feesPerHourWei: 3n * (await feeOf()), clock })
    const { account, payment, topUps } = await payUntilRefused(facilitator)
    clock.offsetMs = hourMs
    expect((await send(topUps, payment)).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a payment that was claimed at the cap stays pending, is reported to the operator, and is settled later', async () => {
    const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs }
    const { facilitator } = await open({ feesPerHourWei: 1n, clock })
    const { account, payment } = await payer(world)
    const verify: Facilitator['verify'] = async () => ({ valid: true })
    const blind = withFacilitator(facilitator, { verify })
    const pending = await send(world.compose({ facilitator: blind }), payment)
    expect([pending.status, pending.body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])
    expect(world.facts).toContainEqual(expect.objectContaining({ why: expect.stringMatching(/raise the cap/) }))
    expect(await received()).toEqual([])
    await world.topUps.completer.complete()
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a transaction that alone would cost more than the cap pauses no payment once fees have fallen', async () => {
    const { facilitator } = await open({ feesPerHourWei: 4n * (await feeOf()) })
    await nextBaseFee(10n ** 12n)
    const { payment } = await payer(world)
    expect((await send(world.compose({ facilitator }), payment)).body.error).toBe('X402_SETTLEMENT_PENDING')
    await nextBaseFee(10n ** 9n)
    await chain.ask('anvil_mine', ['0x1'])
    const next = await payer(world)
    expect((await send(world.compose({ facilitator }), next.payment)).status).toBe(200)
    expect(await facilitator.problem(world.option)).toBeNull()
  })

  test('the actual fee counts: a receipt returns what was counted too much', async () => {
    /** In a block that is dearer than the next, so that the most a transfer may cost is far above what it does. */
    const pay = async (facilitator: Facilitator) => {
      await nextBaseFee(10n ** 12n)
      const { payment } = await payer(world)
      return (await send(world.compose({ facilitator }), payment)).status
    }
    // A node that fills in what a transaction costs would name the price of the next block, and nothing too much.
    world.gate.mode = 'plain'
    const { facilitator: first, address } = await open({ feesPerHourWei: 10n ** 18n })
    // The first transfer to a payee costs more than the next ones.
    await pay(first)
    const before = await balanceOf(address)
    await pay(first)
    const fee = before - (await balanceOf(address))
    const { facilitator } = await open({ feesPerHourWei: (fee * 52n) / 10n })
    const statuses = [await pay(facilitator), await pay(facilitator), await pay(facilitator), await pay(facilitator)]
    expect(statuses).toEqual([200, 200, 200, 200])
    await nextBaseFee(10n ** 9n)
    await chain.ask('anvil_mine', ['0x1'])
  })

  test('what a rollup takes for the data of a transaction counts too', async () => {
    world.gate.mode = 'rollup'
    const { facilitator } = await open({ feesPerHourWei: (rollupFee * 5n) / 2n })
    expect((await payUntilRefused(facilitator)).settled).toBe(2)
  })

  test('a transfer that another party submits is still credited: it costs us nothing', async () => {
    const { account, payment } = await payer(world)
    const lost = withFacilitator(world.facilitator, {
      settle: async signed => {
        await world.facilitator.settle(signed as Parameters<typeof world.facilitator.settle>[0])
        throw new Error('lost')
      },
    })
    const other = await openWorld(chain)
    try {
      await send(
        other.compose({ facilitator: lost, settings: { publicUrl: '', paymentOptions: [world.option] } }),
        payment,
      )
      const { facilitator } = await open({ feesPerHourWei: 0n })
      expect((await send(world.compose({ facilitator }), payment)).status).toBe(200)
      expect(await creditOf(world, account.address)).toBe(five)
    } finally {
      await other.dispose()
    }
  })
})

test('a payment asks its node once who the payer is, once whether the token takes it, and once what that costs', async () => {
  const topUps = world.compose({ facilitator: (await open()).facilitator })
  // The first one also asks whether the token is a contract.
  await send(topUps, (await payer(world)).payment)
  world.gate.asked.length = 0
  expect((await send(topUps, (await payer(world)).payment)).status).toBe(200)
  const repeated = ['eth_getCode', 'eth_call', 'eth_fillTransaction', 'eth_getBlockByHash']
  expect(world.gate.asked.filter(method => repeated.includes(method))).toEqual([
    'eth_getCode',
    'eth_call',
    'eth_fillTransaction',
  ])
})

test('a transaction that its node says to know already is not sent a second time under another number', async () => {
  const { facilitator, address } = await open()
  const { account, payment } = await payer(world)
  world.gate.mode = 'repeat-sends'
  expect((await send(world.compose({ facilitator }), payment)).status).toBe(200)
  expect(world.gate.asked.filter(method => method === 'eth_sendRawTransaction')).toHaveLength(1)
  expect(await chain.ask('eth_getTransactionCount', [address, 'latest'])).toBe('0x1')
  expect(await creditOf(world, account.address)).toBe(five)
})

test('a failed transaction is not a refusal if an earlier one, under another number, may have landed', async () => {
  const { facilitator } = await open()
  const { account, payment } = await payer(world)
  world.gate.mode = 'taken-sends'
  world.gate.asked.length = 0
  let settled: object | null = null
  const settle: typeof facilitator.settle = async it => {
    const settlement = await facilitator.settle(it)
    settled = settlement
    return settlement
  }
  const watched = {
    verify: (it: never) => facilitator.verify(it),
    settle: (it: never) => settle(it),
    supported: () => facilitator.supported(),
    problem: (option: Parameters<typeof facilitator.problem>[0]) => facilitator.problem(option),
  }
  expect((await send(world.compose({ facilitator: watched }), payment)).status).toBe(200)
  expect(world.gate.asked.filter(method => method === 'eth_sendRawTransaction')).toHaveLength(2)
  expect(settled).toMatchObject({ state: 'sent' })
  expect(await creditOf(world, account.address)).toBe(five)
})

describe('the operator is warned before a payer is affected', () => {
  test('about a key whose gas runs out, in time', async () => {
    const { facilitator, address } = await open()
    expect(await facilitator.problem(world.option)).toBeNull()
    await chain.ask('anvil_setBalance', [address, toHex(10n ** 12n)])
    expect(await facilitator.problem(world.option)).toMatch(/fewer than 10 payments; send it some/)
  })

  test('about a token whose name or version is another one than the option says', async () => {
    const { facilitator } = await open()
    const option = { ...world.option, extra: { name: 'USD Coin', version: '2' } }
    expect(await facilitator.problem(option)).toMatch(/the name "USD Coin \(local\)"; set `payments\.evm\.token\.name`/)
    expect(await facilitator.problem({ ...world.option, extra: { ...world.option.extra, version: '1' } })).toMatch(
      /payments\.evm\.token\.version/,
    )
  })

  test('once when it begins and once when it is over, from the start on', async () => {
    const topUps = world.compose()
    world.gate.mode = 'down'
    await topUps.start()
    await topUps.watch.look()
    await topUps.watch.look()
    expect(topUps.watch.problems).toEqual([expect.stringMatching(/cannot be reached/)])
    expect(world.logged.filter(message => message === 'Payments cannot be settled.')).toHaveLength(1)
    world.gate.mode = 'open'
    await topUps.watch.look()
    expect(topUps.watch.problems).toEqual([])
    expect(world.logged.at(-1)).toBe('Payments can be settled again.')
    await topUps.close()
  })

  test('a check that fails in itself is a problem, and stops nothing', async () => {
    const topUps = world.compose({
      facilitator: withFacilitator(world.facilitator, { problem: () => Promise.reject(new Error('a bug')) }),
    })
    await topUps.watch.look()
    expect(topUps.watch.problems).toEqual([expect.stringMatching(/failed\.$/)])
  })
})

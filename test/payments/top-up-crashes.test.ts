import { describe, expect, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import type { Store } from '#ledger/store/store.ts'
import { newAccount, type TestChain } from './test-chain.ts'
import { type Answer, creditOf, encode, payer, send, sign, type World, withFacilitator } from './top-up-world.ts'
import { worldForEachTest } from './world-for-each-test.ts'

let chain: TestChain
let world: World
worldForEachTest(made => {
  chain = made.chain
  world = made.world
})

const received = () => chain.transfersTo(world.option.payTo)
const five = 5_000_000n
const leaseIsOver = 31_000

const rowOf = () => world.opened.store.read.selectFrom('payment').selectAll().executeTakeFirst()

const auditOf = async (path: string) => {
  const reader = sqliteAuditReader(path)
  try {
    return await audit(reader)
  } finally {
    reader.close()
  }
}

const expectPending = ({ status, body }: Answer) =>
  expect([status, body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])

/** A process that ends at its n-th commit: what it was about to write is lost, or what it wrote is never told. */
const crashingAt = (commit: number, when: 'before' | 'after'): Store => {
  let commits = 0
  const { store } = world.opened
  return {
    read: store.read,
    soleOwner: store.soleOwner,
    prune: (slice, rows) => store.prune(slice, rows),
    close: () => store.close(),
    async commit(units) {
      commits++
      if (commits > commit || (commits === commit && when === 'before')) throw new Error('crashed')
      const outcomes = await store.commit(units)
      if (commits === commit) throw new Error('crashed')
      return outcomes
    },
  }
}

describe('a process ends in the middle of a top-up', () => {
  const points = [1, 2].flatMap(commit => (['before', 'after'] as const).map(when => ({ commit, when })))

  test.each(points)(
    '$when its commit $commit: the next one finishes, credits once, and the ledger agrees',
    async point => {
      const { account, payment } = await payer(world)
      expectPending(await send(world.compose({ store: crashingAt(point.commit, point.when) }), payment))
      world.clock.offsetMs = leaseIsOver
      const next = world.compose()
      await next.completer.complete()
      const answer = await send(next, payment)
      expect(answer.status).toBe(200)
      expect(await received()).toHaveLength(1)
      expect(await creditOf(world, account.address)).toBe(five)
      expect((await auditOf(world.opened.path)).findings).toEqual([])
    },
  )

  test('a row that was claimed and never sent is settled by the completer', async () => {
    const { account, payment } = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(1, 'after') }), payment))
    world.opened.tamper("UPDATE payment SET state = 'claimed'")
    world.clock.offsetMs = leaseIsOver
    await world.compose().completer.complete()
    expect(await rowOf()).toMatchObject({ state: 'credited', amount: five })
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('an unreadable row is reported to the operator, and does not block the others', async () => {
    const unreadable = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(1, 'after') }), unreadable.payment))
    world.opened.tamper(`UPDATE payment SET payload = '{"rail":"later"}'`)
    const { account, payment } = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(1, 'after') }), payment))
    world.clock.offsetMs = leaseIsOver
    await world.compose().completer.complete()
    expect(await creditOf(world, account.address)).toBe(five)
    expect(world.logged).toContain('A stored payment cannot be read and is skipped; start the release that wrote it.')
    const states = await world.opened.store.read
      .selectFrom('payment')
      .select('state')
      .orderBy('updated_at_ms')
      .execute()
    expect(states).toEqual(expect.arrayContaining([{ state: 'settling' }, { state: 'credited' }]))
  })

  test('what landed before the crash is credited even where the next process comes after it has expired', async () => {
    const { account, payment } = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(2, 'before') }), payment))
    expect(await received()).toHaveLength(1)
    world.clock.offsetMs = 24 * 60 * 60 * 1000
    await world.compose().completer.complete()
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('another authorization with the nonce of a pending payment does not become that payment', async () => {
    const { payment } = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(1, 'after') }), payment))
    payment.payload.authorization.value = payment.accepted.amount = '9000000'
    const answer = await send(world.compose({ answerWaitMs: 50 }), payment)
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'nonce_used'])
  })

  test('a lease that lives is left alone', async () => {
    const { payment } = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(1, 'after') }), payment))
    const before = await rowOf()
    await world.compose().completer.complete()
    expect(await rowOf()).toEqual(before)
    expectPending(await send(world.compose({ answerWaitMs: 50 }), payment))
    expect(await received()).toHaveLength(0)
  })
})

describe('the next start', () => {
  const starts: [string, boolean, bigint][] = [
    ['of a folder that it alone owns waits for no lease of the dead', true, five],
    ['beside others leaves a live lease alone', false, 0n],
  ]

  test.each(starts)('%s', async (_, soleOwner, credit) => {
    const { account, payment } = await payer(world)
    expectPending(await send(world.compose({ store: crashingAt(1, 'after') }), payment))
    const next = world.compose({ store: { ...world.opened.store, soleOwner } })
    await next.completer.start()
    await next.close()
    expect(await creditOf(world, account.address)).toBe(credit)
  })
})

describe('a facilitator that fails', () => {
  const modes = [
    ['settles and then loses the answer', true],
    ['loses the question', false],
  ] as const

  test.each(modes)('%s: the outcome is unknown, then credited once', async (_, settles) => {
    const { account, payment } = await payer(world)
    const settle = async (signed: Parameters<typeof world.facilitator.settle>[0]) => {
      if (settles) await world.facilitator.settle(signed)
      throw new Error('connection reset')
    }
    const answer = await send(world.compose({ facilitator: withFacilitator(world.facilitator, { settle }) }), payment)
    if (settles) expect(answer.status).toBe(200)
    else expectPending(answer)
    await world.topUps.completer.complete()
    expect((await send(world.topUps, payment)).status).toBe(200)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('slow: the request is answered as pending, the work continues, the repeat is credited', async () => {
    const { payment } = await payer(world)
    // Resolved once, whether or not a slow machine has come to the settlement by then.
    const { promise: told, resolve: go } = Promise.withResolvers<void>()
    const settle = async (signed: Parameters<typeof world.facilitator.settle>[0]) => {
      await told
      return world.facilitator.settle(signed)
    }
    const topUps = world.compose({ facilitator: withFacilitator(world.facilitator, { settle }), answerWaitMs: 300 })
    const twins = await Promise.all([send(topUps, payment), send(topUps, payment)])
    for (const twin of twins) expectPending(twin)
    go()
    await topUps.close()
    expect((await send(topUps, payment)).status).toBe(200)
    expect(await received()).toHaveLength(1)
  })

  const nodes = ['open', 'plain'] as const

  test.each(nodes)(
    'attack 17, node %s: a payer who empties the wallet meanwhile gets a 400, and a resend is judged anew',
    async node => {
      world.gate.mode = node
      const { account, payment } = await payer(world, five)
      const away = async (signed: Parameters<typeof world.facilitator.verify>[0]) => {
        const verdict = await world.facilitator.verify(signed)
        await spend(account.address)
        return verdict
      }
      const topUps = world.compose({ facilitator: withFacilitator(world.facilitator, { verify: away }) })
      const refused = await send(topUps, payment)
      expect([refused.status, refused.body.details.reason]).toEqual([400, 'insufficient_funds'])
      expect(await rowOf()).toMatchObject({ state: 'rejected' })
      expect(await creditOf(world, account.address)).toBe(0n)
      await chain.mint(account.address, five)
      const header = (name: string) => (name === 'x-payment' ? [encode(payment)] : [])
      let counted = 0
      await world.topUps.topUp({ header, address: '127.0.0.1', count: async () => void counted++ })
      expect(counted, 'a rejected payment is checked anew').toBe(1)
      expect(await creditOf(world, account.address)).toBe(five)
    },
  )
})

test('a nonce that the facilitator saw used, and our node not yet, rejects nothing', async () => {
  const { account, payment } = await payer(world)
  const settle = async () => ({ state: 'refused', reason: 'nonce_used' }) as const
  expectPending(await send(world.compose({ facilitator: withFacilitator(world.facilitator, { settle }) }), payment))
  await world.topUps.completer.complete()
  expect(await creditOf(world, account.address)).toBe(five)
})

test('a payment that may be in flight is not called bad because the next attempt is refused', async () => {
  const { account, payment } = await payer(world, five)
  world.gate.mode = 'drop-sends'
  expectPending(await send(world.topUps, payment))
  world.gate.mode = 'open'
  await spend(account.address)
  expectPending(await send(world.topUps, payment))
  await chain.mint(account.address, five)
  expect((await send(world.topUps, payment)).status).toBe(200)
  expect(await received()).toHaveLength(1)
})

/** Moves all of five dollars away. */
const spend = async (from: string) => {
  const { encodeFunctionData } = await import('viem')
  const { usdcAbi } = await import('#local/token/usdc.generated.ts')
  const args = [newAccount().address, five] as const
  await chain.fund(from)
  await chain.sendAs(from, encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args }))
}

describe('X4: a facilitator that lies is not believed', () => {
  const lies: [string, (account: ReturnType<typeof newAccount>) => Promise<string>][] = [
    ['a transaction that does not exist', async () => `0x${'ab'.repeat(32)}`],
    [
      'the transfer of another payment by the same payer',
      async account => {
        const answer = await send(world.topUps, await sign(account, world.option))
        return JSON.parse(Buffer.from(answer.headers.get('payment-response') ?? '', 'base64').toString()).transaction
      },
    ],
    ['a transaction that moved no token', async () => chain.sendAs(await funded(), '0x95d89b41')],
    ['a transaction that failed', async () => chain.sendAs(await funded(), '0xdeadbeef').catch(() => '0x')],
  ]

  test.each(lies)('%s', async (_, transactionOf) => {
    const { account, payment } = await payer(world)
    const transaction = await transactionOf(account)
    const before = await creditOf(world, account.address)
    const settle = async () => ({ state: 'settled', transaction }) as const
    expectPending(await send(world.compose({ facilitator: withFacilitator(world.facilitator, { settle }) }), payment))
    expect(await creditOf(world, account.address)).toBe(before)
    expect(world.logged).toContain('The chain does not show a payment that the facilitator reports as settled.')
  })

  const funded = async () => {
    const { address } = newAccount()
    await chain.fund(address)
    return address
  }
})

describe('X6: a payment that never lands', () => {
  const lost = () => withFacilitator(world.facilitator, { settle: () => Promise.reject(new Error('lost')) })
  const anHour = 60 * 60 * 1000

  test('expires after validBefore by both clocks, and is then answered as expired', async () => {
    const { account, payment } = await payer(world)
    const topUps = world.compose({ facilitator: lost() })
    expectPending(await send(topUps, payment))
    const before = await chain.ask('evm_snapshot')
    try {
      world.clock.offsetMs = anHour
      await topUps.completer.complete()
      expect(await rowOf(), 'our clock alone').toMatchObject({ state: 'unknown' })
      await chain.ask('evm_increaseTime', [anHour / 1000])
      await chain.ask('evm_mine')
      world.gate.mode = 'down'
      await topUps.completer.complete()
      expect(await rowOf(), 'no chain to ask').toMatchObject({ state: 'unknown' })
      world.gate.mode = 'open'
      await topUps.completer.complete()
      expect(await rowOf()).toMatchObject({ state: 'expired' })
      const answer = await send(topUps, payment)
      expect([answer.status, answer.body.details.reason]).toEqual([400, 'expired'])
      expect(await creditOf(world, account.address)).toBe(0n)
    } finally {
      await chain.ask('evm_revert', [before])
    }
  })
})

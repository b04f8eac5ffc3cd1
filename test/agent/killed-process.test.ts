import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const child = fileURLToPath(new URL('./calling-child.ts', import.meta.url))

/** Starts the call, kills its process when the request `path` has arrived, and never answers that one. */
async function killedAt(path: string) {
  const dataFolder = temporaryFolder()
  const { promise: arrived, resolve: hasArrived } = Promise.withResolvers<void>()
  let isFirst = true
  const server = await pretendService({
    instead: seen => {
      const isIt =
        isFirst && seen.path.endsWith(path) && (path !== '/x402/top-up' || 'payment-signature' in seen.headers)
      if (!isIt) return false
      isFirst = false
      hasArrived()
      return true
    },
    ...(path === '/chat/completions' ? { credit: 5 } : {}),
  })
  const running = spawn(process.execPath, [child, server.baseUrl, dataFolder], { stdio: 'inherit' })
  const ended = once(running, 'exit')
  await Promise.race([arrived, ended])
  running.kill('SIGKILL')
  await ended
  return { server, agent: await openAgent({ baseUrl: server.baseUrl, dataFolder }) }
}

test('killed before the answer: the same call does not buy again without `again`', async () => {
  const { server, agent } = await killedAt('/chat/completions')
  try {
    const error = await agent.chat().catch(thrown => thrown)
    expect(error).toBeInstanceOf(ToolFailure)
    expect(error.facts).toMatchObject({ charged: 'unknown', next: expect.stringContaining('again: true') })
    expect(server.countOf('/chat/completions')).toBe(1)
    expect((await agent.chat('hi', true)).paid.chargedMicroUsd).toBe(1_000n)
  } finally {
    await agent.close()
    await server.close()
  }
})

test('killed with calls in flight: none of them counts for another process', async () => {
  const dataFolder = temporaryFolder()
  const calls = 3
  let open = 0
  const { promise: arrived, resolve: haveArrived } = Promise.withResolvers<void>()
  const server = await pretendService({
    credit: 5,
    instead: seen => {
      if (!seen.path.endsWith('/chat/completions')) return false
      if (++open === calls) haveArrived()
      return true
    },
  })
  const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder })
  const flights = () => {
    const rows = agent.state.database().prepare(`SELECT note FROM notes WHERE key LIKE 'caller %'`).all()
    return rows.flatMap(({ note }) => JSON.parse(String(note)).flights)
  }
  try {
    const running = spawn(process.execPath, [child, server.baseUrl, dataFolder, `${calls}`], { stdio: 'inherit' })
    const ended = once(running, 'exit')
    await Promise.race([arrived, ended])
    await agent.models.all()
    expect(flights(), 'alive, they count').toHaveLength(calls)
    running.kill('SIGKILL')
    await ended
    await agent
      .context()
      .limits()
      .catch(() => {})
    expect(flights()).toEqual([])
  } finally {
    await agent.close()
    await server.close()
  }
}, 60_000)

test('killed while paying: the same call continues with the same signed payment', async () => {
  const { server, agent } = await killedAt('/x402/top-up')
  try {
    const { answer } = await agent.chat()
    expect(answer.choices[0]?.message.content).toBe('answer 1')
    const signed = server.seen.map(seen => seen.headers['payment-signature']).filter(header => header !== undefined)
    expect(signed).toHaveLength(2)
    expect(new Set(signed).size).toBe(1)
    expect(server.ledger.credit).toBeCloseTo(4.999)
  } finally {
    await agent.close()
    await server.close()
  }
})

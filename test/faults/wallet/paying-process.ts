/** A process with a wallet, which works through one order after the other until it is killed or let go. */
import { flushCompileCache } from 'node:module'
import { createAgent } from '#agent/create-agent.ts'
import { openAgent } from '#agent/open-agent.ts'
import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { microUsd } from '#contract/money.ts'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { walletKey } from '../../agent/pretend-service.ts'
import { takeOrder } from '../arm/fault-orders.ts'
import { clockSkewMs, takeHalts } from './arm/halts.ts'
import { tell } from './arm/tell.ts'
import type { Action, Told, WalletPlace, WorkOrder } from './work-order.ts'

/** Errors that tell a caller why nothing was bought; any other one is a fault of ours. */
const expected = [WalletRefusal, NeedsApproval, ApprovalRequired, ToolFailure, ClientError, ServiceError]

const optionsOf = ({ baseUrl, folder, notesFolder, journalUrl }: WalletPlace) => ({
  baseUrl,
  dataFolder: folder,
  notesFolder,
  journalUrl: journalUrl ?? undefined,
  clock: { now: () => Date.now() + clockSkewMs() },
})

async function recover(place: WalletPlace): Promise<void> {
  const policy = readPolicy({ ...place.policy, serviceUrl: place.baseUrl })
  const agent = await openAgent({ ...optionsOf(place), walletKey, policy })
  try {
    await agent.wallet?.recover(agent.topUps.send)
  } finally {
    await agent.client.close()
    await agent.wallet?.close()
  }
}

type Agent = Awaited<ReturnType<typeof createAgent>>

async function act(agent: Agent, baseUrl: string, action: Action): Promise<string> {
  if (action.kind === 'topUp') {
    const { paid } = await agent.wallet.topUp(microUsd(action.usd * 1_000_000), { again: action.again })
    return paid.isEarlierCall ? 'an earlier top-up' : 'a top-up'
  }
  const response = await agent.fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 }),
  })
  await response.text()
  return `a call, ${response.status}`
}

async function work({ place, actions }: WorkOrder): Promise<Extract<Told, { kind: 'done' }>> {
  const done: Extract<Told, { kind: 'done' }> = { kind: 'done', answers: [], failures: [] }
  const attempt = async (run: () => Promise<string>) => {
    try {
      done.answers.push(await run())
    } catch (error) {
      if (expected.some(known => error instanceof known)) done.answers.push(error instanceof Error ? error.name : '')
      else done.failures.push(error instanceof Error ? (error.stack ?? error.message) : `${error}`)
    }
  }
  if (actions.length === 0) await attempt(() => recover(place).then(() => 'recovered'))
  else {
    const agent = await createAgent({ ...optionsOf(place), wallet: { key: walletKey }, policy: place.policy })
    for (const [index, action] of actions.entries()) {
      tell({ kind: 'action', action: index })
      await attempt(() => act(agent, place.baseUrl, action))
    }
    await attempt(() => agent.close().then(() => 'closed'))
  }
  return done
}

process.on('message', message => {
  if (typeof message !== 'object' || message === null) return
  const order = message as WorkOrder
  takeOrder({ kill: order.kill })
  takeHalts(order)
  void work(order).then(done => {
    // A process that is killed would leave nothing to those that start after it.
    flushCompileCache()
    tell(done)
  })
})
tell({ kind: 'ready' })
// Its parent has ended.
process.on('disconnect', () => process.exit(0))

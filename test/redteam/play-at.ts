import type { AgentOptions } from '#agent/settings/agent-options.ts'
import { type Evidence, evidence, journalOf } from './evidence.ts'
import { type HiredAgent, hiredAgent } from './hired-agent.ts'
import { type MovableClock, movableClock } from './movable-clock.ts'
import { type HostileTopUp, playTopUp, provider } from './play-top-up.ts'
import type { RailName } from './rails.ts'
import type { Reply } from './rule-of.ts'
import type { Authorized } from './scenario.ts'
import type { TopUpPlay } from './top-up-play.ts'

export interface Stage {
  play: TopUpPlay
  rail: RailName
  authorized: Authorized | null
  policy?: AgentOptions['policy']
  onApproval?: AgentOptions['onApproval']
}

export interface Scene {
  hired: HiredAgent
  hosts: HostileTopUp
  clock: MovableClock
}

export interface Played {
  replies: Reply[]
  found: Evidence
  hosts: HostileTopUp
}

/** Hires an agent at a hostile service, lets a caller act, and reads what left. */
export async function playAt(stage: Stage, act: (scene: Scene) => Promise<Reply[]>): Promise<Played> {
  const { play, rail, policy, onApproval } = stage
  const clock = movableClock()
  const hosts = await playTopUp(play, clock)
  const hired = await hiredAgent({
    rail,
    baseUrl: hosts.baseUrl,
    clock,
    ...(policy && { policy }),
    ...(onApproval && { onApproval }),
  })
  try {
    const replies = await act({ hired, hosts, clock })
    const found = await evidence(hosts.seen, replies, await journalOf(hired), { ...stage, home: provider })
    return { replies, found, hosts }
  } finally {
    await hired.close()
    await hosts.close()
  }
}

import type { Invocation } from '#toolkit/tool-host.ts'
import type { AgentDesks } from '../agent-desks.ts'

/** One call of a tool, as its effects need it. */
export interface Asked {
  desks: AgentDesks
  signal: AbortSignal
  whenDelivered: NonNullable<Invocation['whenDelivered']>
  called: Invocation['called']
}

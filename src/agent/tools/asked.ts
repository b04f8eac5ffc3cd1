import type { Invocation } from '#toolkit/tool-host.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import type { AgentDesks } from '../agent-desks.ts'
import type { ToolAsking } from '../calls/asked-about.ts'

/** One call of a tool, as its effects need it. */
export interface Asked {
  desks: AgentDesks
  signal: AbortSignal
  whenDelivered: NonNullable<Invocation['whenDelivered']>
  called: Invocation['called']
  /** What it has read so far, in the order in which it asked for it. */
  files: () => readonly AskedFile[]
}

/** What a person is told of a call that this one makes. */
export const askingOf = ({ called, files }: Asked): ToolAsking => ({ tool: called?.name ?? null, files: files() })

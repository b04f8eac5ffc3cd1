import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The final outcome of a request. */
export type Fate = number | 'no answer'

/** A service that answers as it is told, after a while, and counts failures by the service's own rule (brief §7.3). */
export function failingService(time: VirtualTime, { fate, latencyMs }: { fate: () => Fate; latencyMs: () => number }) {
  const block = new AbuseBlock(time)
  const told = { requests: 0, blocksBegun: 0, refusedByBlock: 0, underWay: 0, mostUnderWay: 0 }
  const answer = async (): Promise<Response> => {
    const outcome = blockedAnswer() ?? fate()
    await time.pause(latencyMs())
    if (outcome === 200) return Response.json({ object: 'list', type: 'all', data: [] })
    if (outcome instanceof ServiceError) return Response.json(outcome.body, { status: 429, headers: outcome.headers })
    if (block.count('caller')) told.blocksBegun++
    if (outcome === 'no answer') throw new TypeError('fetch failed')
    return Response.json({ error: 'no' }, { status: outcome })
  }
  const blockedAnswer = (): ServiceError | null => {
    try {
      block.check('caller')
      return null
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      told.refusedByBlock++
      return error
    }
  }
  const fetch = async (): Promise<Response> => {
    told.requests++
    told.mostUnderWay = Math.max(told.mostUnderWay, ++told.underWay)
    try {
      return await answer()
    } finally {
      told.underWay--
    }
  }
  return { fetch, told }
}

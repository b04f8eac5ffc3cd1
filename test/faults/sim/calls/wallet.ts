import { fromUsdNumber } from '#contract/money.ts'
import { credentialsOf } from '../callers.ts'
import type { Visit } from './visit.ts'

/** A wallet looks at its own balance. With credentials of its own where none are given. */
export async function readBalance(visit: Visit, credentials?: Record<string, string>): Promise<number> {
  const { world, caller } = visit
  const sinceMs = world.time.nowMs
  const path = `/api/v1/x402/balance/${caller.wallet}`
  const response = await visit.ask({ method: 'GET', path, ...(credentials ? { headers: credentials } : {}) })
  const text = await visit.text(response)
  visit.answered(response.status)
  if (response.status !== 200) return response.status
  const told = fromUsdNumber(JSON.parse(text).data.balanceUsd) ?? 0n
  const most = world.units.mostPostedSince(caller.account, sinceMs)
  if (told > most) world.broken(`${visit.name} was told a balance of ${told}; ${most} micro-USD were posted at most.`)
  return response.status
}

/** One signed header, sent twice at once, as if it had been copied. */
export async function signInTwice(visit: Visit, twin: Visit): Promise<void> {
  const { world, caller, draws, process } = visit
  const credentials = credentialsOf(caller, world.signatures, draws, process.now())
  const statuses = await Promise.all([readBalance(visit, credentials), readBalance(twin, credentials)])
  twin.end()
  if (statuses.filter(status => status === 401).length === 1) world.sometimes.reached('a copied sign-in was refused')
  if (!world.signInWindow && statuses.every(status => status === 200))
    world.broken(`${visit.name} and ${twin.name} signed in with one nonce.`)
}

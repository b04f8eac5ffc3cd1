import { signal } from '@preact/signals'
import { RefusedError, readJson, refusedOf } from '../kit/api.ts'
import type { Refused } from '../kit/wire.ts'
import type { Me } from './wire.ts'

/** Who is signed in; null if no customer is, undefined until the server has answered. */
export const me = signal<Me | null | undefined>(undefined)

/** Why the server could not be asked. */
export const problem = signal<Refused | null>(null)

/** Asks the server who is signed in: at the start, after signing in and out. */
export async function readMe(): Promise<void> {
  problem.value = null
  try {
    me.value = await readJson<Me>('/account/api/me')
  } catch (error) {
    if (isOver(error)) me.value = null
    else problem.value = refusedOf(error)
  }
}

/** The session has ended, or never began. */
const isOver = (error: unknown): boolean => error instanceof RefusedError && error.status === 401

/** What to show of a failed request; a session that is over leads to the sign-in. */
export function failed(error: unknown): Refused {
  if (isOver(error)) me.value = null
  return refusedOf(error)
}

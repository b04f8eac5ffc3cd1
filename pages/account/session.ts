import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { postJson, RefusedError, readJson, refusedOf } from '../kit/api.ts'
import type { Refused } from '../kit/wire.ts'
import type { Me } from './wire.ts'

/** The signed-in customer; null if there is none, undefined until the server has answered. */
export const me = signal<Me | null | undefined>(undefined)

/** Why the server could not be asked, or why the last session is over. */
export const problem = signal<Refused | null>(null)

/**
 * Asks the server who is signed in: at the start, and after signing in and out. If the user has just signed in, the server
 * refuses the new session for a reason that they must see, such as a cookie that the browser blocked.
 */
export async function readMe(hasSignedIn = false): Promise<void> {
  problem.value = null
  try {
    me.value = await readJson<Me>('/account/api/me')
  } catch (error) {
    if (isOver(error)) me.value = null
    if (!isOver(error) || hasSignedIn) problem.value = refusedOf(error)
  }
}

/** The session has ended, or there was none. */
const isOver = (error: unknown): boolean => error instanceof RefusedError && error.status === 401

/** The message for a failed request; if the session has ended, shows the sign-in with the reason. */
export function failed(error: unknown): Refused {
  if (isOver(error) && me.value) {
    me.value = null
    problem.value = refusedOf(error)
  }
  return refusedOf(error)
}

/** Calls the page's API. If the session has ended, shows the sign-in, whatever called. */
export async function ask<Answer>(name: string, input: object): Promise<Answer> {
  try {
    return await postJson<Answer>(`/account/api/${name}`, input)
  } catch (error) {
    failed(error)
    throw error
  }
}

/** Reads an answer, and again when the request or `version` changes. Until then it keeps the former answer. */
export function useAnswer<Answer>(name: string, input: object, version = 0) {
  const value = useSignal<Answer | null>(null)
  const problem = useSignal<Refused | null>(null)
  const question = JSON.stringify(input)
  useEffect(() => {
    let isLatest = true
    ask<Answer>(name, JSON.parse(question)).then(
      answer => {
        if (!isLatest) return
        value.value = answer
        problem.value = null
      },
      error => {
        if (isLatest) problem.value = refusedOf(error)
      },
    )
    return () => {
      isLatest = false
    }
  }, [name, question, version])
  return { value: value.value, problem: problem.value }
}

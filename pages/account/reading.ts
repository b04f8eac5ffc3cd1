import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { postJson, refusedOf } from '../kit/api.ts'
import type { Refused } from '../kit/wire.ts'
import { failed } from './session.ts'

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

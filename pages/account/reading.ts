import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { postJson } from '../kit/api.ts'
import type { Refused } from '../kit/wire.ts'
import { failed } from './session.ts'

/** Calls the page's API. */
export const ask = <Answer>(name: string, input: object): Promise<Answer> => postJson(`/account/api/${name}`, input)

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
        if (isLatest) problem.value = failed(error)
      },
    )
    return () => {
      isLatest = false
    }
  }, [name, question, version])
  return { value: value.value, problem: problem.value }
}

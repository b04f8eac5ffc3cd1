import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { postJson } from '../kit/api.ts'
import type { Refused } from '../kit/wire.ts'
import { failed } from './session.ts'

/** One of the page's questions. */
export const ask = <Answer>(name: string, input: object): Promise<Answer> => postJson(`/account/api/${name}`, input)

/** Reads an answer of the server's, again when the question changes or `refresh` is called; an old answer stays meanwhile. */
export function useAnswer<Answer>(name: string, input: object) {
  const value = useSignal<Answer | null>(null)
  const problem = useSignal<Refused | null>(null)
  const asked = useSignal(0)
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
  }, [name, question, asked.value])
  const refresh = () => {
    asked.value++
  }
  return { value: value.value, problem: problem.value, refresh }
}

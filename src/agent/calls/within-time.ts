import { ClientError } from '#client/client-error.ts'
import { paidAnswerMs } from '../bounds.ts'
import type { Core } from '../core.ts'
import { whileWanted } from './while-wanted.ts'

/**
 * One paid request, ended when its time is over however it drips, or when `closing` is aborted: its answer then counts as
 * lost, whatever the request itself is still waiting for.
 */
export async function withinTime<Result>(
  { pause }: Pick<Core, 'pause'>,
  closing: AbortSignal,
  send: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController()
  const waiting = new AbortController()
  const over = () => ending.abort(noAnswer('The answer took too long.'))
  pause(paidAnswerMs, waiting.signal).then(over, () => {})
  const signal = AbortSignal.any([ending.signal, closing])
  try {
    return await whileWanted(send(signal), signal)
  } finally {
    waiting.abort()
  }
}

export const noAnswer = (message: string): ClientError => new ClientError('no-answer', message, { wasSent: true })

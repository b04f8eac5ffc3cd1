import { ClientError } from '#client/client-error.ts'
import { paidAnswerMs } from './bounds.ts'
import type { Core } from './core.ts'

/** One paid request, ended when its time is over however it drips: its answer then counts as lost. */
export async function withinTime<Result>(
  { pause }: Pick<Core, 'pause'>,
  send: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController()
  const waiting = new AbortController()
  const over = () => ending.abort(new ClientError('no-answer', 'The answer took too long.', { wasSent: true }))
  pause(paidAnswerMs, waiting.signal).then(over, () => {})
  try {
    return await send(ending.signal)
  } finally {
    waiting.abort()
  }
}

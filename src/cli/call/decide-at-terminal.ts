import type { Question } from '#toolkit/approval.ts'
import type { CommandIo } from '../command.ts'
import { approveQuestion } from '../wallet/approve-question.ts'

/**
 * Asks the person at the terminal as `farebox wallet approve` does, with the wallet's passphrase where there is one. All of
 * it goes to stderr, because stdout is for the result. Rejects with the signal's reason where the person stops the command.
 */
export async function decideAtTerminal(
  { approvalId }: Question,
  data: string | undefined,
  io: CommandIo,
  signal: AbortSignal,
): Promise<boolean> {
  const { output } = io
  const aside: CommandIo = { ...io, output: { ...output, print: output.note, note: output.note } }
  const flags = data === undefined ? [] : ['--data', data]
  const stopped = Promise.withResolvers<never>()
  const stop = () => {
    // Whoever waits for a line would keep the process.
    io.stdin.pause()
    stopped.reject(signal.reason)
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    const answered = approveQuestion([approvalId, ...flags], aside)
    return (await Promise.race([answered, stopped.promise])) === 0
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

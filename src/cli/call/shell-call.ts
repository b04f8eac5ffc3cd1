import { type Question, sayOpenQuestion } from '#toolkit/approval.ts'
import { progressCharacters, progressEveryMs, questionsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { runTool } from '#toolkit/run-tool.ts'
import { sayFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'
import type { CommandIo } from '../command.ts'
import { approveQuestion } from '../wallet/approve.ts'

/** What a call from the shell meets of the terminal. */
export interface Shell {
  /** Aborts where the person stops the command. */
  signal: AbortSignal
  /** The result, as data and in words. */
  tell(output: object, text: string): void
  /** A line beside the result. */
  note(line: string): void
  /** Records a person's answer to the question; false where it is not a yes. Null where nobody sits at a terminal. */
  decide: ((question: Question) => Promise<boolean>) | null
  /** A question that stays open, and the words that show it whole and say where it is answered. */
  leaveOpen(question: Question, words: string): void
}

/** `unpaid` may be mended by a wallet that is opened; `ended` is any other failure, and where a person is needed, said no, or stopped it. */
export type ShellCallEnd = 'done' | 'unpaid' | 'ended'

/** One call of a tool, as over MCP; whatever becomes of it has been told when this resolves. Throws what is a fault of ours. */
export async function callFromShell(
  tool: Tool,
  given: Record<string, unknown>,
  host: ToolHost,
  shell: Shell,
): Promise<ShellCallEnd> {
  const { signal } = shell
  const report = progressTo(shell)
  for (let round = 1; ; round++) {
    const delivered: (() => void)[] = []
    const whenDelivered = (run: () => void) => void delivered.push(run)
    const invocation = { signal, report, whenDelivered, called: { name: tool.name, given } }
    const outcome = await runTool(tool, given, () => host.context(invocation))
    switch (outcome.kind) {
      case 'done':
        shell.tell(outcome.output, outcome.text)
        for (const run of delivered) run()
        return 'done'
      case 'failed':
        shell.note(sayFailure(outcome.facts, Date.now()))
        return outcome.facts.isWithoutWallet ? 'unpaid' : 'ended'
      case 'asks':
        if (await isApproved(tool, outcome.question, round, shell)) break
        return 'ended'
      case 'fault':
        if (!signal.aborted) throw outcome.error
        shell.note(`Stopped.${tool.annotations.readOnlyHint ? '' : mayStillBeCharged}`)
        return 'ended'
    }
  }
}

const mayStillBeCharged =
  ' What had begun may still be charged: the same call again gets its answer and pays nothing more.'

async function isApproved({ name }: Tool, question: Question, round: number, shell: Shell): Promise<boolean> {
  if (shell.decide === null || round > questionsInARow) {
    shell.leaveOpen(question, sayOpenQuestion(question, name, Date.now()))
    return false
  }
  try {
    if (await shell.decide(question)) return true
    shell.note('Nothing was sent or charged.')
  } catch (error) {
    if (!shell.signal.aborted) throw error
    shell.note('Stopped without a decision. Nothing was sent or charged.')
  }
  return false
}

/** A line for each thing that is new, and not too many of them. */
function progressTo({ signal, note }: Shell) {
  let last = ''
  let nextAtMs = 0
  return ({ message }: { message: string }): void => {
    const nowMs = performance.now()
    const line = oneLine(message, progressCharacters)
    if (signal.aborted || line === last || nowMs < nextAtMs) return
    last = line
    nextAtMs = nowMs + progressEveryMs
    note(line)
  }
}

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

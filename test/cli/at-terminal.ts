import { PassThrough } from 'node:stream'
import type { CommandIo } from '#cli/command.ts'
import { main } from '#cli/main.ts'
import { createOutput } from '#cli/output.ts'

/** Runs `farebox wallet`; every line of `typed` answers the next thing that is asked, at a terminal. */
export async function atTerminal(
  args: string[],
  typed: string[] | null = null,
  env: NodeJS.ProcessEnv = {},
  isShown = typed !== null,
) {
  const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: isShown })
  const keyboard = new PassThrough()
  const waiting = [...(typed ?? [])]
  let notes = ''
  const stderr = new PassThrough({ encoding: 'utf8' })
  stderr.on('data', (text: string) => {
    notes += text
    if (/[:?]\n$/.test(text)) setImmediate(() => waiting.length > 0 && keyboard.write(`${waiting.shift()}\n`))
  })
  const io: CommandIo = {
    output: createOutput(stdout, stderr),
    env,
    stdin: Object.assign(keyboard, { isTTY: typed !== null, setRawMode: () => keyboard }) as never,
    self: ['node', 'farebox.mjs'],
    untilStopped: () => new AbortController().signal,
  }
  const code = await main(['wallet', ...args], io)
  return { code, stdout: String(stdout.read() ?? ''), stderr: notes }
}

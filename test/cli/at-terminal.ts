import { PassThrough } from 'node:stream'
import type { CommandIo } from '#cli/command.ts'
import { main } from '#cli/main.ts'
import { createOutput } from '#cli/output.ts'

/** Runs `farebox wallet`; each line of `typed` answers the next prompt, at a terminal. */
export const atTerminal = (
  args: string[],
  typed: string[] | null = null,
  env: NodeJS.ProcessEnv = {},
  isShown = typed !== null,
) => typedInto(['wallet', ...args], typed, env, { isShown })

const ignored = (_: string): void => {}

/**
 * The same for any command; a function in the place of a line is called, `signal` stops the command as Ctrl-C does, and
 * `printed` hears what it prints while it runs, and `noted` all that it has said on stderr.
 */
export async function typedInto(
  args: readonly string[],
  typed: readonly (string | (() => void))[] | null,
  env: NodeJS.ProcessEnv = {},
  { isShown = typed !== null, signal = new AbortController().signal, printed = ignored, noted = ignored } = {},
) {
  const stdout = Object.assign(
    new PassThrough({
      encoding: 'utf8',
      transform(chunk, _, done) {
        printed(String(chunk))
        done(null, chunk)
      },
    }),
    {
      isTTY: isShown,
      // One without colours, so that tests read words.
      getColorDepth: () => 1,
    },
  )
  const keyboard = new PassThrough()
  const waiting = [...(typed ?? [])]
  const type = (line: string | (() => void) | undefined) =>
    typeof line === 'function' ? line() : line !== undefined && keyboard.write(`${line}\n`)
  let notes = ''
  const stderr = new PassThrough({ encoding: 'utf8' })
  stderr.on('data', (text: string) => {
    notes += text
    noted(notes)
    if (/[:?]\n$/.test(text)) setImmediate(() => type(waiting.shift()))
  })
  const io: CommandIo = {
    output: createOutput(stdout, stderr),
    env,
    stdin: Object.assign(keyboard, { isTTY: typed !== null, setRawMode: () => keyboard }) as never,
    self: ['node', 'farebox.mjs'],
    untilStopped: () => signal,
  }
  const code = await main(args, io)
  return { code, stdout: String(stdout.read() ?? ''), stderr: notes }
}

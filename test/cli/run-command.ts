import { PassThrough } from 'node:stream'
import type { CommandIo } from '#cli/command.ts'
import { main } from '#cli/main.ts'
import { createOutput } from '#cli/output.ts'

export interface CommandEnd {
  code: number
  stdout: string
  stderr: string
}

/** Runs a command of the real table in this process, with its own output and environment. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandEnd> {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const [told, noted] = [collect(stdout), collect(stderr)]
  const io: CommandIo = {
    output: createOutput(stdout, stderr),
    env,
    stdin: process.stdin,
    self: ['node', 'farebox.mjs'],
    untilStopped: () => new AbortController().signal,
  }
  const code = await main(args, io)
  stdout.end()
  stderr.end()
  return { code, stdout: await told, stderr: await noted }
}

async function collect(stream: PassThrough): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

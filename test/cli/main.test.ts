import { execFile } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { CliError, type CommandEntry, type CommandIo, parseArguments } from '#cli/command.ts'
import { commands } from '#cli/commands.ts'
import { main } from '#cli/main.ts'
import { createOutput } from '#cli/output.ts'
import { version } from '#contract/version.generated.ts'
import { PackageMissing } from '#host/packages.ts'
import packageJson from '../../package.json' with { type: 'json' }

const greet: CommandEntry = {
  name: 'greet',
  summary: 'Greets by name.',
  load: async () => ({
    usage: 'farebox greet NAME [--loud]',
    async run(args, io) {
      const { values, positionals } = parseArguments(args, {
        command: 'farebox greet',
        options: { loud: { type: 'boolean' }, times: { type: 'string' } },
        maxPositionals: 1,
      })
      const [name] = positionals
      if (name === 'nobody') throw new CliError('There is nobody to greet.', 'Name somebody.')
      if (name === 'package') throw new PackageMissing('Greeting needs a package. Run `npm install it`.')
      if (name === 'bug') throw new TypeError('unforeseen.\n    at a line of it')
      io.output.print(`hello ${name}${values.times ? ` ${values.times}` : ''}${values.loud ? '!' : ''}`)
      return 0
    },
  }),
}

/** A stream that keeps what is written to it. */
const kept = () => new PassThrough({ encoding: 'utf8' })

async function run(...args: string[]) {
  const stdout = kept()
  const stderr = kept()
  const io: CommandIo = {
    output: createOutput(stdout, stderr),
    env: {},
    stdin: process.stdin,
    self: ['node', 'farebox.mjs'],
    untilStopped: () => new AbortController().signal,
  }
  return { code: await main(args, io, [greet]), stdout: stdout.read() ?? '', stderr: stderr.read() ?? '' }
}

const rows: [args: string[], code: number, stdout: RegExp, stderr: RegExp][] = [
  [['greet', 'Ada'], 0, /^hello Ada\n$/, /^$/],
  [['greet', 'Ada', '--loud'], 0, /^hello Ada!\n$/, /^$/],
  [['-v'], 0, /^\d+\.\d+\.\d+\S*\n$/, /^$/],
  [['help', 'greet'], 0, /^Greets by name\.\n\nfarebox greet NAME/, /^$/],
  [['help', 'gret'], 2, /^$/, /no command `gret`\. Did you mean `greet`\?/],
  [['gret'], 2, /^$/, /no command `gret`\. Did you mean `greet`\? .*farebox --help/],
  [['-V'], 0, /^\d+\.\d+\.\d+\S*\n$/, /^$/],
  [['--version'], 0, /^\d+\.\d+\.\d+\S*\n$/, /^$/],
  [['--help'], 0, /greet {2}Greets by name\./, /^$/],
  [[], 2, /greet {2}Greets by name\./, /^$/],
  [['greet', '--help'], 0, /^Greets by name\.\n\nfarebox greet NAME/, /^$/],
  [['greet', '--', '--help'], 0, /^hello --help\n$/, /^$/],
  [['great'], 2, /^$/, /no command `great`.*farebox --help/],
  [
    ['greet', '--quiet'],
    2,
    /^$/,
    /Unknown flag `--quiet`\. The flags are --loud, --times\. Run `farebox greet --help`/,
  ],
  [['greet', '--loud=yes'], 2, /^$/, /`--loud` takes no value/],
  [['greet', '--times'], 2, /^$/, /`--times` needs a value/],
  [['greet', '--times', '--loud'], 2, /^$/, /`--times` needs a value/],
  [['greet', 'Ada', '--times', '-5'], 0, /^hello Ada -5\n$/, /^$/],
  [['greet', '--', '--times', '-5'], 2, /^$/, /Unexpected argument `-5`/],
  [['greet', 'Ada', 'Bob'], 2, /^$/, /Unexpected argument `Bob`/],
  [['greet', 'nobody'], 1, /^$/, /^There is nobody to greet\. Name somebody\.\n$/],
  [['greet', 'package'], 1, /^$/, /^Greeting needs a package\. Run `npm install it`\.\n$/],
  [
    ['greet', 'bug'],
    1,
    /^$/,
    /^farebox stopped because of an unexpected error: unforeseen\. Set FAREBOX_DEBUG=1 to see where\.\n$/,
  ],
]

test.each(rows)('farebox %j ends with %i', async (args, code, stdout, stderr) => {
  const result = await run(...args)
  expect(result.stdout).toMatch(stdout)
  expect(result.stderr).toMatch(stderr)
  expect(result.code).toBe(code)
})

test.each([
  ['an unhandled error', `setTimeout(() => { throw new Error('late') })`, 'late'],
  ['an unhandled rejection', `Promise.reject(new Error('unheard'))`, 'unheard'],
  ['a value that is not an error', `setTimeout(() => { throw 'a word' })`, 'a word'],
])(
  '%s ends the process with one sentence',
  async (_, broken, reason) => {
    const program = `import { main } from ${JSON.stringify(new URL('../../src/cli/main.ts', import.meta.url))}
await main(['--version']); ${broken}; setTimeout(() => {}, 60_000)`
    const args = ['--input-type=module', '-e', program]
    const { code, stderr } = await promisify(execFile)(process.execPath, args, { env: {} }).catch(error => error)
    const sentence = `farebox stopped because of an unexpected error: ${reason}. Set FAREBOX_DEBUG=1 to see where.\n`
    expect({ code, stderr }).toEqual({ code: 1, stderr: sentence })
    const debugged = await promisify(execFile)(process.execPath, args, { env: { FAREBOX_DEBUG: '1' } }).catch(
      error => error,
    )
    expect(debugged.stderr.startsWith(sentence)).toBe(true)
  },
  60_000,
)

test('the version is that of package.json', () => {
  expect(version).toBe(packageJson.version)
})

test('every command of the table loads and says how it is used', async () => {
  expect(new Set(commands.map(entry => entry.name)).size).toBe(commands.length)
  for (const { name, load } of commands) expect((await load()).usage).toContain(`farebox ${name}`)
})

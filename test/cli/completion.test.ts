import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { commands } from '#cli/commands.ts'
import { runCommand } from './run-command.ts'

/** What bash offers for the last of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const { stdout } = await runCommand(['completion', 'bash'])
  const program = `${stdout}\nCOMP_WORDS=(farebox "$@"); COMP_CWORD=$#; _farebox; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', program, 'bash', ...words], { encoding: 'utf8' })
    .trim()
    .split('\n')
}

test('bash completes commands, their words, their flags and the clients', { tags: ['posix'] }, async () => {
  expect(await offered('')).toEqual([...commands.map(({ name }) => name), 'help'])
  expect(await offered('wal')).toEqual(['wallet'])
  expect(await offered('wallet', 'cre')).toEqual(['create'])
  expect(await offered('mcp', '--print-c')).toEqual(['--print-config'])
  expect(await offered('install', 'claude')).toEqual(['claude-code', 'claude-desktop'])
  expect(await offered('help', 'inst')).toEqual(['install'])
})

test.each(['bash', 'zsh', 'fish'])('the script for %s names each command', async shell => {
  const { code, stdout } = await runCommand(['completion', shell])
  expect(code).toBe(0)
  for (const { name } of commands) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`))
})

test('fish completes the command after `help`, as bash does', async () => {
  const { stdout } = await runCommand(['completion', 'fish'])
  const names = commands.map(({ name }) => name).join(' ')
  expect(stdout).toContain(`-n '__fish_seen_subcommand_from help' -f -a '${names} help'`)
  expect(stdout).toMatch(/-n __fish_use_subcommand -f -a help /)
})

test.each([[[]], [['powershell']], [['toString']]])('%j is wrong usage', async args => {
  expect(await runCommand(['completion', ...args])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh or fish'),
  })
})

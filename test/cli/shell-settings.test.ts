import { expect, test } from 'vitest'
import { runLinesOf, settingLines } from '#cli/show/shell-settings.ts'

const variables = { FAREBOX_BASE_URL: 'http://127.0.0.1:8402/api/v1', FAREBOX_DATA: "/it's mine/a" }

test.each([
  ['a POSIX shell', 'linux', {}],
  ['Git Bash', 'win32', { SHELL: '/usr/bin/bash' }],
] as const)('settings for %s', (_, platform, env) => {
  expect(settingLines(variables, ['FAREBOX_SOLANA_KEY'], env, platform)).toEqual([
    'unset FAREBOX_SOLANA_KEY',
    'export FAREBOX_BASE_URL=http://127.0.0.1:8402/api/v1',
    `export FAREBOX_DATA='/it'\\''s mine/a'`,
  ])
  expect(runLinesOf('farebox local env', platform, env)).toBe('eval "$(farebox local env)"')
})

test('settings for PowerShell are in ASCII, and expand nothing', () => {
  const data = { FAREBOX_DATA: 'C:\\Users\\Ann Müller\\$x "y" `z`' }
  expect(settingLines(data, ['FAREBOX_SOLANA_KEY'], {}, 'win32')).toEqual([
    'Remove-Item Env:FAREBOX_SOLANA_KEY -ErrorAction Ignore',
    '$env:FAREBOX_DATA = "C:\\Users\\Ann M$([char]252)ller\\`$x `"y`" ``z``"',
  ])
  expect(runLinesOf('farebox local env', 'win32', {})).toBe('farebox local env | Invoke-Expression')
})

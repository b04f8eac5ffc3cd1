/** Git Bash, unlike PowerShell, sets SHELL. */
const isPowerShell = (env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean => platform === 'win32' && !env.SHELL

/** Returns the lines that set variables in the user's shell, and unset others. */
export function settingLines(
  variables: Readonly<Record<string, string>>,
  unset: readonly string[],
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string[] {
  if (isPowerShell(env, platform))
    return [
      ...unset.map(name => `Remove-Item Env:${name} -ErrorAction Ignore`),
      ...Object.entries(variables).map(([name, value]) => `$env:${name} = ${inPowerShell(value)}`),
    ]
  return [
    ...unset.map(name => `unset ${name}`),
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`),
  ]
}

/** Returns what the user types so that their shell runs the lines that a command prints. */
export const runLinesOf = (command: string, platform: NodeJS.Platform = process.platform, env = process.env): string =>
  isPowerShell(env, platform) ? `${command} | Invoke-Expression` : `eval "$(${command})"`

/** PowerShell decodes what a program prints in an old code page, so other letters are written as numbers. */
const inPowerShell = (value: string): string =>
  `"${value.replaceAll(/[`$"]/g, '`$&').replaceAll(/[^ -~]/g, unit => `$([char]${unit.charCodeAt(0)})`)}"`

/** Quotes a text for a POSIX shell. */
const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

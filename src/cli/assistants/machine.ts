import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { type PlatformPath, posix, win32 } from 'node:path'

/** The facts that determine where a client keeps its configuration. Tests can simulate any machine. */
export interface Machine {
  platform: NodeJS.Platform
  env: Readonly<Record<string, string | undefined>>
  /** Lists a folder; asks the file system by default. */
  namesIn?: (folder: string) => readonly string[]
}

const pathsOf = ({ platform }: Machine): PlatformPath => (platform === 'win32' ? win32 : posix)

const homeOf = ({ platform, env }: Machine): string => (platform === 'win32' ? env.USERPROFILE : env.HOME) || homedir()

/** Returns a path below the user's home folder. */
export const atHome = (machine: Machine, ...names: string[]): string => pathsOf(machine).join(homeOf(machine), ...names)

/** Returns a path below the folder that a variable names, or below `usual` in the home folder. */
export function belowVariable(
  machine: Machine,
  variable: string,
  usual: readonly string[],
  ...names: string[]
): string {
  const named = machine.env[variable]
  return named ? pathsOf(machine).join(named, ...names) : atHome(machine, ...usual, ...names)
}

/** Returns a path in the settings folder of desktop programs. */
export function inAppFolder(machine: Machine, ...names: string[]): string {
  if (machine.platform === 'win32') return belowVariable(machine, 'APPDATA', ['AppData', 'Roaming'], ...names)
  if (machine.platform === 'darwin') return atHome(machine, 'Library', 'Application Support', ...names)
  return inXdgFolder(machine, ...names)
}

/** Returns a path in the settings folder of each packaged program (MSIX) of that name, which it has in place of APPDATA. */
export function inPackageFolders(machine: Machine, prefix: string, ...names: string[]): string[] {
  if (machine.platform !== 'win32') return []
  const packages = belowVariable(machine, 'LOCALAPPDATA', ['AppData', 'Local'], 'Packages')
  try {
    const found = (machine.namesIn ?? readdirSync)(packages).filter(name => name.startsWith(prefix))
    return found.map(name => win32.join(packages, name, 'LocalCache', 'Roaming', ...names))
  } catch {
    return []
  }
}

/** Returns a path in `~/.config`, which some clients use on every system. */
export const inXdgFolder = (machine: Machine, ...names: string[]): string =>
  belowVariable(machine, 'XDG_CONFIG_HOME', ['.config'], ...names)

/** Whether a terminal on this machine finds an executable of that name. */
export function hasProgram(machine: Machine, name: string): boolean {
  const { delimiter, join } = pathsOf(machine)
  const folders = (machine.env.PATH ?? machine.env.Path ?? '').split(delimiter).filter(folder => folder !== '')
  if (machine.platform !== 'win32') return folders.some(folder => isExecutable(join(folder, name)))
  return folders.some(folder => ['.exe', '.cmd'].some(ending => existsSync(join(folder, `${name}${ending}`))))
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

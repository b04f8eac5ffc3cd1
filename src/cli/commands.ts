import type { CommandEntry } from './command.ts'

/** Every command, in the order of `farebox --help`. */
export const commands: readonly CommandEntry[] = []

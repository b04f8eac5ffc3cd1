import { integerFlag, wrongUsage } from '../arguments.ts'
import { readPassphraseFile } from '../passphrase-file.ts'
import { readDescriptor } from './terminal.ts'

/** Flags of every command that takes a passphrase from a program. */
export const passphraseFlags = { 'passphrase-file': { type: 'string' }, 'passphrase-fd': { type: 'string' } } as const

interface Given {
  'passphrase-file'?: string | undefined
  'passphrase-fd'?: string | undefined
}

/**
 * The passphrase that a program hands over by an open descriptor or a file, else by the systemd credential of `env`; null
 * where there is none. `lowest` is the first descriptor that the command has no use for itself.
 */
export async function givenPassphrase(
  command: string,
  given: Given,
  env: Readonly<Record<string, string | undefined>>,
  lowest = 0,
): Promise<string | null> {
  const descriptor = integerFlag(command, 'passphrase-fd', given['passphrase-fd'], lowest, 255)
  if (descriptor === undefined) return readPassphraseFile(given['passphrase-file'], env)
  if (given['passphrase-file'] !== undefined)
    throw wrongUsage(command, 'A passphrase comes by `--passphrase-fd` or by `--passphrase-file`, not by both')
  return readDescriptor(descriptor)
}

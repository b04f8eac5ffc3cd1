import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import { displayUntil } from '#contract/time.ts'

type Listed = Awaited<ReturnType<OwnerDesk['questions']>>[number]

/**
 * One question of a list, with the command that answers it. What is asked may quote a stranger, in whose words no command
 * is made to work.
 */
export const questionLine = (
  { id, inShort, expiresAtMs }: Listed,
  command: string,
  typed: (command: string) => string,
): string => `${inShort}; until ${displayUntil(expiresAtMs, Date.now())}: ${typed(`\`${command} ${id}\``)}`

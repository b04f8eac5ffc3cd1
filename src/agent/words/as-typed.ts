import { defaultStateFolder } from '#wallet/private-file.ts'
import { ownCommand, quoted } from './own-command.ts'

/** Whose wallet the commands of a sentence are about. */
export interface WalletPlace {
  folder: string
  /** The journal is in a database, whose address is a secret and stands in no sentence. */
  isJournalShared: boolean
}

/** Commands that find a wallet by its folder. */
const ofWallets = /^(?:wallet|mcp|proxy|call)\b/

/**
 * A sentence of ours with each command as a person has to type it here: `farebox wallet status` becomes what starts this
 * installation, on this very wallet. Only for our own sentences, because in a stranger's it would make a command work.
 */
export function asTyped(sentence: string, { folder, isJournalShared }: WalletPlace = usualPlace()): string {
  const commands = [...sentence.matchAll(commandIn)].map(([, words = '']) => words)
  if (commands.length === 0) return sentence
  const typed = sentence.replaceAll(commandIn, (_, words: string) => `\`${typedCommand(words, folder)}\``)
  const needsJournal = isJournalShared && commands.some(words => words.startsWith('wallet'))
  return needsJournal ? `${typed} That terminal needs this wallet’s FAREBOX_JOURNAL_URL.` : typed
}

const commandIn = /`farebox ((?:--)?[a-z][^`]*)`/g

const usualPlace = (): WalletPlace => ({ folder: defaultStateFolder(), isJournalShared: false })

/** `words` are those behind `farebox`; without a folder of its own where the wallet lies in the usual one. */
function typedCommand(words: string, folder: string): string {
  const isNamed = folder === defaultStateFolder() || !ofWallets.test(words) || words.includes(' --data ')
  return `${ownCommand()} ${words}${isNamed ? '' : ` --data ${quoted(folder)}`}`
}

/** The place of an agent's wallet. */
export const placeOf = (core: { state: { folder: string }; records: { folder: string | null } }): WalletPlace => ({
  folder: core.state.folder,
  isJournalShared: core.records.folder === null,
})

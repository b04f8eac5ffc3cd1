import { type Command, wrongUsage } from '../command.ts'
import { approveQuestion, refuseQuestion } from '../wallet/approve.ts'
import { createWallet } from '../wallet/create-wallet.ts'
import { exportWallet } from '../wallet/export-wallet.ts'
import { openPage } from '../wallet/open-page.ts'
import { resolvePayment } from '../wallet/resolve-payment.ts'
import { showReceipts } from '../wallet/show-receipts.ts'
import { showAddress, showStatus } from '../wallet/show-wallet.ts'
import { moveWallet, startWallet, stopWallet } from '../wallet/switch-wallet.ts'

const name = 'farebox wallet'

const usage = `Usage: farebox wallet create [--service URL] [--keychain] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
       farebox wallet address [--rail base|solana] [--qr] [--data DIR]
       farebox wallet status [--json] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
       farebox wallet receipts [--refused] [--json | --csv] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
       farebox wallet approve|refuse [ID] [--data DIR]
       farebox wallet open [--no-browser] [--data DIR]
       farebox wallet resolve ID [--data DIR]
       farebox wallet export [--data DIR]
       farebox wallet stop|start|move [--data DIR]

create    makes a key for Base and one for Solana, encrypted with a passphrase, and prints their addresses
address   prints the addresses, Base first
status    balance on each chain, credit at the service, caps and what they leave, payees, and approvals that wait
receipts  the last payments and what came of them, and what services charged, with checked receipts
approve   shows what an assistant asked and records your answer, also to take back a no; for a person at a terminal
refuse    answers no; either takes the one question that waits where no ID is given
open      shows everything that waits for you as a page of this machine, behind a link that works once; from a terminal
resolve   records what you saw on the chain of a payment whose outcome is unknown
export    shows the secret keys, after a passphrase; for a person at a terminal
stop      switches off all processes that share the wallet's journal: nothing is signed, nothing is sent
start     switches them on again, and refills where a refill had not shown; for a person at a terminal
move      makes this journal the one that counts for the wallet's keys on this machine, also after an older copy of it was
          restored: shows what was noted and what it holds; for a person at a terminal

  --service URL      asks the service where it wants to be paid, shows it, and lets the wallet pay there
  --keychain         keeps the keys in the keychain of this system too, so that the assistant needs no passphrase
  --rail NAME        only the address on base or on solana
  --qr               the address as a code that wallets on a telephone read
  --passphrase-file FILE  reads the passphrase from a file that only you may read
  --passphrase-fd N  reads the passphrase from an open file descriptor, for example 0 for the standard input
  --deny             of approve: answers no, as refuse does
  --no-browser       prints the link only
  --refused          what the wallet refused to pay instead; as JSON each with a statement that its key has signed
  --json             amounts as texts of micro-USD
  --csv              a table for a spreadsheet
  --data DIR         the wallet's folder (FAREBOX_DATA, or ~/.farebox; that of \`farebox up\` is .farebox/agent)`

const words: Readonly<Record<string, Command['run']>> = {
  create: createWallet,
  address: showAddress,
  status: showStatus,
  receipts: showReceipts,
  approve: approveQuestion,
  refuse: refuseQuestion,
  open: openPage,
  resolve: resolvePayment,
  export: exportWallet,
  stop: stopWallet,
  start: startWallet,
  move: moveWallet,
}

export const wallet: Command = {
  usage,
  async run([word = '', ...rest], io) {
    const run = Object.hasOwn(words, word) ? words[word] : undefined
    if (run) return run(rest, io)
    throw wrongUsage(name, `Say what to do: ${Object.keys(words).join(', ')}`)
  },
}

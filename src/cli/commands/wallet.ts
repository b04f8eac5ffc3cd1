import { type Command, wrongUsage } from '../command.ts'
import { approveQuestion, refuseQuestion } from '../wallet/approve.ts'
import { createWallet } from '../wallet/create-wallet.ts'
import { exportWallet, moveWallet, resolvePayment, startWallet, stopWallet } from '../wallet/manage-wallet.ts'
import { openPage } from '../wallet/open-page.ts'
import { showReceipts } from '../wallet/show-receipts.ts'
import { showAddress, showStatus } from '../wallet/show-wallet.ts'

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

create    creates a key for Base and one for Solana, encrypted with a passphrase, and prints their addresses
address   prints the addresses, Base first
status    shows balances, credit at the service, caps and what they leave, payees, and pending approvals
receipts  lists recent payments and their outcomes, and charges with verified receipts
approve   shows a pending approval and records your decision; also reverses a denial. Needs a terminal
refuse    denies a pending approval. Without ID, both commands take the only pending one
open      opens a local page with everything pending, behind a link that works once. Needs a terminal
resolve   records what you found on the chain for a payment whose outcome is unknown
export    shows the secret keys after the passphrase. Needs a terminal
stop      stops every process that shares the journal: nothing more is signed or sent
start     lifts the stop, and resumes refills that were paused. Needs a terminal
move      accepts this journal for the wallet's keys on this machine, also after an older copy was restored. Shows the
          difference first. Needs a terminal

  --service URL           ask this service where it wants to be paid, and let the wallet pay there
  --keychain              also keep the keys in the system keychain, so that the assistant needs no passphrase
  --rail NAME             only the address on base or solana
  --qr                    show the address as a QR code
  --passphrase-file FILE  file with the passphrase, readable by you only
  --passphrase-fd N       read the passphrase from this open file descriptor, for example 0 for stdin
  --deny                  with approve: deny, as refuse does
  --no-browser            only print the link
  --refused               list payments that the wallet refused; with --json each has a statement signed by its key
  --json                  JSON, with amounts as strings of micro-USD
  --csv                   CSV
  --data DIR              the wallet's folder (FAREBOX_DATA, or ~/.farebox; that of \`farebox up\` is .farebox/agent)`

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
    throw wrongUsage(name, `Choose what to do: ${Object.keys(words).join(', ')}`)
  },
}
